import CloudKitRecordLayer

/// Prepares a store that went back to an earlier state of itself for new changes.
///
/// After the state other changes were made, which are lost here, and devices know them. So nothing that names a change is given out again: versions, and
/// with them change tags, and positions in the queues of notifications go on from the present time in milliseconds, which is beyond all that were given out
/// before, unless a database has seen more than a thousand changes a second over all of its time. Databases that have given out no version do the same
/// with their first one.
package struct ContinueFromEarlierState: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Prepares the store.
    ///
    /// - Parameters:
    ///   - restoredTo: The time of the state, in milliseconds since 1970; 0 if it is not known.
    ///   - partitions: The names of all partitions of the store.
    package func run(restoredTo: Int64, partitions: [String]) async throws {
        let first = UInt64(max(0, cloud.serverEnvironment.now()))
        for name in partitions {
            let partition = StoragePartition(name)
            guard DatabaseContext(partition: partition) != nil else { continue }
            try await cloud.store.write(partition) { transaction in
                var header = try await transaction.databaseHeader()
                if header.version > 0, header.version < first {
                    header.version = first
                    transaction.set(header)
                }
                var queue = try await transaction.notificationQueueHeader()
                if queue.sequence > 0 || !queue.devices.isEmpty, queue.sequence < first {
                    queue.sequence = first
                    transaction.set(queue)
                }
            }
        }
        let lineage = StoreLineage(restoredTo: restoredTo)
        try await cloud.store.write(.lineage) { $0.set(lineage) }
        cloud.storeHistory.note(restoredTo: restoredTo)
    }
}

extension Cloud {
    /// Returns the time of the earlier state that the store went back to last, in milliseconds since 1970, 0 if it is not known; nil: it
    /// never did.
    package func readRestoredTo() async throws -> Int64? {
        try await store.read(.lineage) { try await $0.storeLineage() }?.restoredTo
    }
}
