import CloudKitModel
import CloudKitRecordLayer

/// The data that was removed with an account.
package struct RemovedData: Hashable, Sendable {
    /// The number of records.
    package var records = 0
    /// The number of files.
    package var files = 0
    /// The number of private databases.
    package var databases = 0
    /// Zones of others that the person has left.
    package var shares = 0

    /// Creates the numbers of a run that removed nothing.
    package init() {}
}

/// Deletes the private data of an account.
package struct RemoveAccountData: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Removes an account's data from the private databases of all containers and environments, and leaves the shares
    /// of others. The account's own shares end for all participants, who are notified as when the owner deletes the zone; records in
    /// public databases stay, subscriptions to them do not.
    ///
    /// The account should be disabled before and removed after. The call can be repeated at any time in between. What devices
    /// send meanwhile is removed too, or refused; a concurrent upload leaves a file that a later sweep deletes (`AssetLifetimes.orphan`).
    package func run(ofAccount id: String) async throws -> RemovedData {
        var removed = RemovedData()
        let names = cloud.accountStore.userNames
        for (container, user) in try await names.all(of: id) {
            for environment in Environment.allCases {
                removed.shares += try await leaveAllShares(of: user, in: container, environment)
                let partition = StoragePartition.privateDatabase(container, environment, of: user)
                if try await cloud.store.read(.registry, { try await $0.isKnown(partition) }) {
                    removed.files += try await deleteFiles(of: partition)
                    removed.records += try await endZones(of: user, in: container, environment, partition)
                    removed.databases += 1
                }
                try await clear(partition)
                try await clearSubscriptions(of: user, toPublicRecordsOf: container, environment)
            }
        }
        return removed
    }

    private func leaveAllShares(
        of user: UserID, in container: ContainerID, _ environment: Environment
    ) async throws -> Int {
        let address = DatabaseAddress(container: container, environment: environment, scope: .shared)
        let caller = Caller(user: user)
        let zones = try await ListZones(cloud).run(in: address, by: caller)
        for zone in zones { _ = try await ModifyZones(cloud).run([.delete(zone.id)], in: address, by: caller) }
        return zones.count
    }

    /// - Returns: How many there were.
    private func deleteFiles(of partition: StoragePartition) async throws -> Int {
        var count = 0
        var last: AssetFileID?
        while true {
            let ids = try await cloud.store.read(partition) { [last] view in
                try await view.assetIDs(after: last, limit: Self.filesAtOnce)
            }
            for id in ids { try await cloud.files.delete(id) }
            count += ids.count
            guard ids.count == Self.filesAtOnce else { return count }
            last = ids.last
        }
    }

    private static var filesAtOnce: Int { 500 }

    /// Deletes the zones as their owner does, so that the members of shares are told.
    ///
    /// - Returns: How many records there were in the database.
    private func endZones(
        of user: UserID, in container: ContainerID, _ environment: Environment, _ partition: StoragePartition
    ) async throws -> Int {
        let (count, zones) = try await cloud.store.read(partition) { view in
            (try await view.databaseHeader().recordCount, try await view.zones(limit: .max))
        }
        let address = DatabaseAddress(container: container, environment: environment, scope: .private)
        for zone in zones where zone.isCustom && zone.state == .live {
            _ = try await ModifyZones(cloud).run(
                [.delete(ZoneID(zoneName: zone.name, owner: user))], in: address, by: Caller(user: user))
        }
        // What waits for other partitions would go with the database.
        while try await DeliverAcrossPartitions(cloud).run(from: partition) != nil {}
        return Int(count)
    }

    /// Clears a database, zone by zone so that no transaction holds others up for long, and then all that is left. What devices still send
    /// is refused from then on.
    private func clear(_ partition: StoragePartition) async throws {
        let zones = try await cloud.store.read(partition) { try await $0.zones(limit: .max).map(\.number) }
        for zone in zones {
            try await cloud.store.write(partition) { $0.clearContents(ofZone: zone) }
        }
        try await cloud.store.write(partition) { transaction in
            let header = try await transaction.databaseHeader()
            transaction.clearDatabase()
            transaction.set(header.closed)
        }
    }

    private func clearSubscriptions(
        of user: UserID, toPublicRecordsOf container: ContainerID, _ environment: Environment
    ) async throws {
        let partition = StoragePartition.publicDatabase(container, environment)
        try await cloud.store.write(partition) { transaction in
            let held = try await transaction.subscriptions(of: user, in: .public)
            guard !held.isEmpty else { return }
            for subscription in held { transaction.clear(subscription, of: user, in: .public) }
            var header = try await transaction.databaseHeader()
            header.countSubscriptions(before: held.count, after: 0)
            transaction.set(header)
        }
    }
}
