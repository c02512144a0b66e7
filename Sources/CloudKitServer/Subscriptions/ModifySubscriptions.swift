import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Creates, replaces and deletes subscriptions.
package struct ModifySubscriptions: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Creates, replaces and deletes subscriptions of the caller; each operation succeeds or fails on its own.
    ///
    /// Rules B-SUB-01 to B-SUB-08. A subscription counts from the commit on.
    ///
    /// - Returns: An outcome for each operation, in their order.
    package func run(
        _ operations: [SubscriptionOperation], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [SubscriptionOutcome] {
        let place = try DatabaseAccess.place(address, for: caller, to: .subscribe)
        guard let user = caller.user else { throw RequestFailure.notSignedIn }
        try caller.checkItemCount(operations.count)
        try await cloud.registry.enter(place.partition)
        let schema = try await cloud.schemas.current(place.schemaPartition)
        let operations = operations.map { $0.naming { cloud.serverEnvironment.randomUUID() } }
        let writer = SubscriptionWriter(
            user: user, place: place, schema: schema, max: cloud.limits.subscriptionsMax,
            now: cloud.serverEnvironment.now())
        let own = StoragePartition.privateDatabase(address.container, address.environment, of: user)
        return try await cloud.store.write(own == place.partition ? [own] : [place.partition, own]) { transaction in
            try await transaction.databaseHeader(in: own).checkIsOpen()
            return try await writer.apply(operations, &transaction)
        }
    }
}

extension SubscriptionOperation {
    fileprivate var subscription: Subscription? {
        switch self {
        case .create(let subscription), .update(let subscription): subscription
        case .delete: nil
        }
    }

    /// Returns the operation with a generated identifier where the client chose none.
    fileprivate func naming(_ name: () -> String) -> SubscriptionOperation {
        guard case .create(var subscription) = self, subscription.id.isEmpty else { return self }
        subscription.id = name()
        return .create(subscription)
    }
}

/// Subscriptions of one request on their way into the store.
private struct SubscriptionWriter: Sendable {
    let user: UserID
    let place: DatabaseContext
    let schema: Schema
    let max: Int
    /// Milliseconds since 1970.
    let now: Int64

    func apply(
        _ operations: [SubscriptionOperation], _ transaction: inout StorageWriter
    ) async throws -> [SubscriptionOutcome] {
        var memory = RequestMemory(of: place.caller.attempt, by: user, now: now)
        try await memory.read(transaction)
        if memory.isOvertaken { throw RequestFailure.overtakenAttempt }
        var versions: [Int: UInt64] = [:]
        var held = try await held(transaction)
        let zones = try await zones(of: operations, transaction)
        let before = held.count
        var outcomes: [SubscriptionOutcome] = []
        for (position, operation) in operations.enumerated() {
            if memory.version(at: position) != nil {
                outcomes.append(repeated(operation, held: held[operation.subscriptionID]))
                continue
            }
            do throws(RequestFailure) {
                outcomes.append(try apply(try accepted(operation, zones), held: &held, &transaction))
                versions[position] = 0
            } catch {
                outcomes.append(.failed(id: operation.subscriptionID, error))
            }
        }
        memory.keep(versions, &transaction)
        // Those of the shared database are met by changes in other partitions.
        if place.scope != .shared, held.count != before {
            var header = try await transaction.databaseHeader()
            header.countSubscriptions(before: before, after: held.count)
            transaction.set(header)
        }
        return outcomes
    }

    /// Returns the outcome of an operation that took effect when its request was sent before (B-THR-07).
    private func repeated(_ operation: SubscriptionOperation, held: Subscription?) -> SubscriptionOutcome {
        guard operation.subscription != nil else { return .deleted(id: operation.subscriptionID) }
        return held.map { .subscription($0) } ?? .failed(id: operation.subscriptionID, .subscriptionNotFound)
    }

    private func held(_ view: StorageWriter) async throws -> [String: Subscription] {
        var held: [String: Subscription] = [:]
        for subscription in try await view.subscriptions(of: user, in: place.scope) {
            held[subscription.id] = subscription
        }
        return held
    }

    private func zones(
        of operations: [SubscriptionOperation], _ view: StorageWriter
    ) async throws -> [String: ZoneHeader] {
        let names = Array(Set(operations.compactMap { $0.subscription?.zoneName }))
        if names.isEmpty { return [:] }
        var zones: [String: ZoneHeader] = [:]
        for case let zone? in try await view.zones(named: names) { zones[zone.name] = zone }
        return zones
    }

    private func accepted(
        _ operation: SubscriptionOperation, _ zones: [String: ZoneHeader]
    ) throws(RequestFailure) -> SubscriptionOperation {
        guard let subscription = operation.subscription else { return operation }
        let accepted = try SubscriptionCheck.accepted(subscription, in: place, schema: schema)
        // A subscription to a zone that does not exist would never fire (B-ZN-07).
        if let name = accepted.zoneName { _ = try ZoneAccess.live(zones[name]) }
        if case .update = operation { return .update(accepted) }
        return .create(accepted)
    }

    private func apply(
        _ operation: SubscriptionOperation, held: inout [String: Subscription],
        _ transaction: inout StorageWriter
    ) throws(RequestFailure) -> SubscriptionOutcome {
        let old = held[operation.subscriptionID]
        switch SubscriptionDecision(operation, held: old, count: held.count, max: max) {
        case .store(let subscription):
            try transaction.set(subscription, of: user, in: place.scope, replacing: old)
            held[subscription.id] = subscription
            return .subscription(subscription)
        case .remove(let subscription):
            transaction.clear(subscription, of: user, in: place.scope)
            held[subscription.id] = nil
            return .deleted(id: subscription.id)
        case .refuse(let failure): throw failure
        }
    }
}

extension Subscription {
    /// The only zone it is about; nil: several.
    fileprivate var zoneName: String? {
        switch interest {
        case .query(let query): query.zoneID?.zoneName
        case .zone(let zoneID, _): zoneID.zoneName
        case .database: nil
        }
    }
}
