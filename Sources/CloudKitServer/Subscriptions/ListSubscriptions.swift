import CloudKitModel
import CloudKitRecordLayer

/// Lists the subscriptions of a user.
package struct ListSubscriptions: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Every subscription of the caller in a database, in the order of their identifiers.
    package func run(
        in address: DatabaseAddress, by caller: Caller
    ) async throws -> [Subscription] {
        let place = try DatabaseAccess.place(address, for: caller, to: .subscribe)
        guard let user = caller.user else { throw RequestFailure.notSignedIn }
        return try await cloud.store.read(place.partition) { try await $0.subscriptions(of: user, in: place.scope) }
    }
}
