import Foundation

extension _CKDatabaseHandlers {
    /// Fetches every subscription, see `allSubscriptions()`.
    @preconcurrency
    public func fetchAllSubscriptions(
        completionHandler: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void
    ) {
        let operation = CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation()
        var subscriptions: [CKSubscription] = []
        operation.perSubscriptionResultBlock = { _, result in
            if case .success(let subscription) = result { subscriptions.append(subscription) }
        }
        operation.fetchSubscriptionsResultBlock = { Self.complete($0.map { subscriptions }, to: completionHandler) }
        start(operation)
    }

    /// Fetches one subscription, see `subscription(for:)`.
    @preconcurrency
    public func fetch(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        fetch(withSubscriptionIDs: [subscriptionID]) { results in
            Self.complete(results.flatMap { $0.onlyResult(subscriptionID) }, to: completionHandler)
        }
    }

    /// Saves a subscription, see `save(_:)`.
    @preconcurrency
    public func save(
        _ subscription: CKSubscription, completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        let id = subscription.subscriptionID
        modifySubscriptions(saving: [subscription], deleting: []) { results in
            Self.complete(results.flatMap { $0.saveResults.onlyResult(id) }, to: completionHandler)
        }
    }

    /// Deletes a subscription, see `deleteSubscription(withID:)`.
    @preconcurrency
    public func delete(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (String?, (any Error)?) -> Void
    ) {
        modifySubscriptions(saving: [], deleting: [subscriptionID]) { results in
            let result = results.flatMap { $0.deleteResults.onlyResult(subscriptionID) }
            Self.complete(result.map { subscriptionID }, to: completionHandler)
        }
    }
}

extension CKDatabase {
    /// Fetches subscriptions, see `subscriptions(for:)`.
    @preconcurrency
    public func fetch(
        withSubscriptionIDs subscriptionIDs: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (Result<[CKSubscription.ID: Result<CKSubscription, any Error>], any Error>) -> Void
    ) {
        let operation = CKFetchSubscriptionsOperation(subscriptionIDs: subscriptionIDs)
        var results: [CKSubscription.ID: Result<CKSubscription, any Error>] = [:]
        operation.perSubscriptionResultBlock = { results[$0] = $1 }
        operation.fetchSubscriptionsResultBlock = { completionHandler($0.map { results }) }
        start(operation)
    }

    /// Saves and deletes subscriptions, see `modifySubscriptions(saving:deleting:)`.
    @preconcurrency
    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
                        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        let operation = CKModifySubscriptionsOperation(
            subscriptionsToSave: subscriptionsToSave, subscriptionIDsToDelete: subscriptionIDsToDelete)
        var saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>] = [:]
        var deleteResults: [CKSubscription.ID: Result<Void, any Error>] = [:]
        operation.perSubscriptionSaveBlock = { saveResults[$0] = $1 }
        operation.perSubscriptionDeleteBlock = { deleteResults[$0] = $1 }
        operation.modifySubscriptionsResultBlock = { completionHandler($0.map { (saveResults, deleteResults) }) }
        start(operation)
    }
}
