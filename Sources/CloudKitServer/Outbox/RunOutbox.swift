import CloudKitModel
import CloudKitRecordLayer

/// Processes the work that waits in the outbox.
package struct RunOutbox: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Processes a part of the waiting work: cascades of default zones (B-REF-08), zones of keychains that were reset,
    /// and notifications for other partitions. Called repeatedly, from any number of processes.
    ///
    /// A cascade and its effects are one transaction, so that it is done once also where two processes meet.
    ///
    /// - Parameter isPaced: Whether notifications that were delivered a moment ago from the same partition, or are being delivered, are left for
    ///   later.
    /// - Returns: Whether there may be more to do now.
    @discardableResult
    package func run(isPaced: Bool = false) async throws -> Bool {
        try await FinishKeyResets(cloud).run()
        let now = cloud.serverEnvironment.now()
        var mayBeMore = false
        let pending = try await cloud.store.read(.registry) { try await $0.pendingPartitions(limit: 100) }
        for (partition, promised) in pending {
            let mayDeliver =
                !isPaced || cloud.deliveryPace.outboxMayDeliver(partition, now: cloud.serverEnvironment.uptime())
            let hasDelivered = mayDeliver ? try await deliver(from: partition) : false
            if try await runCascade(in: partition) || hasDelivered {
                mayBeMore = true
            } else if mayDeliver,
                cloud.registry.isOutlived(
                    partition, promised: promised, now: now, uptime: cloud.serverEnvironment.uptime())
            {
                // Promised work has been written by now, or never will be.
                cloud.registry.forgetPromise(in: partition, promised: promised)
                try await cloud.store.write(.registry) { try await $0.clearPending(partition, promised: promised) }
            }
        }
        return mayBeMore
    }

    /// Delivers notifications for other partitions; false if none waited.
    private func deliver(from partition: StoragePartition) async throws -> Bool {
        let began = cloud.serverEnvironment.uptime()
        guard let outcome = try await DeliverAcrossPartitions(cloud).run(from: partition) else { return false }
        if !outcome.mayBeMore {
            let now = cloud.serverEnvironment.uptime()
            cloud.deliveryPace.rest(partition, after: now - began, queued: outcome.queued, now: now)
        }
        return true
    }

    private static var recordsAtOnce: Int { 200 }

    /// Returns the first of some records, one at least and as many as one turn in the writer takes: large ones have many index entries.
    private static func beginning(
        of names: [String], zone: UInt32, _ view: StorageWriter
    ) async throws -> [StoredRecord] {
        var records: [StoredRecord] = []
        var bytes = 0
        var rest = names[...]
        while !rest.isEmpty {
            let part = rest.prefix(recordsRead)
            rest = rest.dropFirst(part.count)
            for case let record? in try await view.records(zone: zone, names: Array(part)) {
                bytes += record.storedBytes
                if bytes > bytesAtOnce, !records.isEmpty { return records }
                records.append(record)
            }
        }
        return records
    }

    private static var recordsRead: Int { 16 }
    /// A text of this size can have 16,000 index entries.
    private static var bytesAtOnce: Int { 65_536 }

    /// Takes one step of the oldest job of a partition; false if there is none.
    private func runCascade(in partition: StoragePartition) async throws -> Bool {
        guard let place = DatabaseContext(partition: partition) else { return false }
        let schema = try await cloud.schemas.current(place.schemaPartition)
        let now = cloud.serverEnvironment.now()
        return try await cloud.writeNotifying([partition]) { transaction, pendingNotifications in
            guard let job = try await transaction.cascadeJobs(limit: 1).first else { return false }
            let headers = try await transaction.headers(zoneNamed: job.zoneName)
            guard let zone = headers.zone, zone.number == job.zone, zone.state == .live else {
                transaction.clear(job)
                return true
            }
            let owned = try await transaction.backReferences(
                zone: job.zone, target: job.target, limit: Self.recordsAtOnce
            ).filter { $0.kind == .deleteSelf }
            // A record that came back under the name keeps what points to it.
            let target = try await transaction.records(zone: job.zone, names: [job.target])[0]
            guard !owned.isEmpty, target == nil else {
                transaction.clear(job)
                return true
            }
            let names = Array(Set(owned.map(\.holder))).sorted()
            let records = try await Self.beginning(
                of: names, zone: job.zone, transaction)
            let batch = ChangeBatch(
                items: [], place: place, zoneName: zone.name, wantsAtomic: false, clientChangeToken: nil,
                limits: cloud.limits, now: now)
            var writer = ChangeWriter(
                batch: batch, database: headers.database, zone: zone, schema: schema,
                pendingNotifications: pendingNotifications)
            try await writer.deleteOwned(records, &transaction)
            return true
        }
    }
}
