import CloudKitModel
import CloudKitRecordLayer

/// Reads subscriptions by identifier.
package struct LookupSubscriptions: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Returns the requested subscriptions, each found or not on its own.
    package func run(
        _ ids: [String], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [SubscriptionOutcome] {
        let place = try DatabaseAccess.place(address, for: caller, to: .subscribe)
        guard let user = caller.user else { throw RequestFailure.notSignedIn }
        try caller.checkItemCount(ids.count)
        let found = try await cloud.store.read(place.partition) {
            try await $0.subscriptions(ids, of: user, in: place.scope)
        }
        return zip(ids, found).map { id, subscription in
            subscription.map(SubscriptionOutcome.subscription) ?? .failed(id: id, .subscriptionNotFound)
        }
    }
}
