import CloudKitModel
import OrderedStore

/// A subscription and its owner.
package struct OwnedSubscription: Hashable, Sendable {
    /// The user.
    package var user: UserID
    /// The subscription.
    package var subscription: Subscription

    /// Creates a value with the given properties.
    package init(user: UserID, subscription: Subscription) {
        self.user = user
        self.subscription = subscription
    }
}

extension Reading {
    /// Every subscription of a user in one database, in the order of their identifiers.
    package func subscriptions(of user: UserID, in scope: DatabaseScope) async throws -> [Subscription] {
        try await scan(Subscription.range(of: user, in: scope), limit: .max).map { entry in
            var key = KeyReader(entry.key, in: .subscription)
            try key.skip()
            try key.skip()
            return try Subscription(id: try key.readString(), decoding: entry.value)
        }
    }

    /// The subscriptions under `ids`, in their order.
    package func subscriptions(
        _ ids: [String], of user: UserID, in scope: DatabaseScope
    ) async throws -> [Subscription?] {
        let values = try await get(ids.map { Subscription.key($0, of: user, in: scope) })
        return try zip(ids, values).map { id, bytes in try bytes.map { try Subscription(id: id, decoding: $0) } }
    }

    /// Returns all users' subscriptions to records of a type, in the public database.
    package func subscriptions(toRecordsOfType recordType: String) async throws -> [OwnedSubscription] {
        let range = KeyBuilder(.subscribedType).adding(recordType).range
        return try await scan(range, limit: .max).map { entry in
            var key = KeyReader(entry.key, in: .subscribedType)
            try key.skip()
            let user = UserID(try key.readString())
            return OwnedSubscription(
                user: user, subscription: try Subscription(id: try key.readString(), decoding: entry.value))
        }
    }
}

extension WriteTransaction {
    /// Stores a subscription, which replaces `held`.
    ///
    /// - Throws: `RequestFailure.badRequest` for a filter's value that no field can hold.
    package mutating func set(
        _ subscription: Subscription, of user: UserID, in scope: DatabaseScope, replacing held: Subscription?
    ) throws(RequestFailure) {
        let value = try subscription.encoded()
        if let held { clear(held, of: user, in: scope) }
        set(Subscription.key(subscription.id, of: user, in: scope), value)
        if let key = subscription.typeKey(of: user, in: scope) { set(key, value) }
    }

    /// Removes a subscription.
    package mutating func clear(_ subscription: Subscription, of user: UserID, in scope: DatabaseScope) {
        clear(Subscription.key(subscription.id, of: user, in: scope))
        if let key = subscription.typeKey(of: user, in: scope) { clear(key) }
    }
}

extension Subscription {
    /// In the public database subscriptions are found by the type of the record that changed.
    func typeKey(of user: UserID, in scope: DatabaseScope) -> Bytes? {
        guard scope == .public, case .query(let query) = interest else { return nil }
        return Subscription.typeKey(id, of: user, recordType: query.query.recordType)
    }
}
