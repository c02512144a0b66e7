import CloudKitClient
import CloudKitModel
import Foundation

extension CKDatabase {
    /// Fetches every subscription of the user in this database, whichever device made it (B-SUB-02).
    nonisolated(nonsending) public func allSubscriptions() async throws -> [CKSubscription] {
        try await failing { try await requests().allSubscriptions().map { CKSubscription.from($0) } }
    }

    /// Fetches one subscription.
    ///
    /// - Throws: `CKError.unknownItem` when the subscription does not exist.
    nonisolated(nonsending) public func subscription(
        for subscriptionID: CKSubscription.ID
    ) async throws -> CKSubscription {
        try await subscriptions(for: [subscriptionID]).only(subscriptionID)
    }

    /// Fetches subscriptions.
    nonisolated(nonsending) public func subscriptions(
        for ids: [CKSubscription.ID]
    ) async throws -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
        try await failing {
            try RequestLimits.check(items: ids.count)
            var results: [CKSubscription.ID: Result<CKSubscription, any Error>] = [:]
            for (id, result) in try await requests().subscriptions(ids) { results[id] = result.asSubscription(id) }
            return results
        }
    }

    /// Saves a subscription, in place of the one with its identifier (B-SUB-05).
    @discardableResult
    nonisolated(nonsending) public func save(_ subscription: CKSubscription) async throws -> CKSubscription {
        try await modifySubscriptions(saving: [subscription], deleting: [])
            .saveResults.only(subscription.subscriptionID)
    }

    /// Deletes a subscription.
    ///
    /// - Throws: `CKError.unknownItem` when the subscription does not exist (B-SUB-06).
    @discardableResult
    nonisolated(nonsending) public func deleteSubscription(
        withID subscriptionID: CKSubscription.ID
    ) async throws -> CKSubscription.ID {
        try await modifySubscriptions(saving: [], deleting: [subscriptionID]).deleteResults.only(subscriptionID)
        return subscriptionID
    }

    /// Saves and deletes subscriptions; each succeeds or fails on its own.
    nonisolated(nonsending) public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID]
    ) async throws -> (
        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    ) {
        try await failing {
            let plan = try SubscriptionModification(saving: subscriptionsToSave, deleting: subscriptionIDsToDelete)
            var saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>] = [:]
            var deleteResults: [CKSubscription.ID: Result<Void, any Error>] = [:]
            for outcome in try await requests().modify(plan) {
                if outcome.isDeletion {
                    deleteResults[outcome.id] =
                        outcome.result.map { _ in () }.asError(.deletingSubscription(outcome.id))
                } else {
                    saveResults[outcome.id] = outcome.result.asSubscription(outcome.id)
                }
            }
            return (saveResults, deleteResults)
        }
    }
}
