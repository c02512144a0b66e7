import OrderedStore

/// What a store's file says about itself before it is opened for use.
package struct StoreInspection: Hashable, Sendable {
    /// The number that the store and all its copies share.
    package let storeID: UInt64
    /// The epoch.
    package let epoch: UInt64
    /// The mark of the newest state that was served; 0 if the store was never served.
    package let servedMark: UInt64
}

extension SQLiteStore {
    /// The number that this store and all its copies share.
    package var storeID: UInt64 { partitions.salt }

    /// The partition of the mark, which only grows while the store is served.
    package static let servedPartition = Partition("served")
    static let servedKey: Bytes = [0x60]

    /// Returns the mark of the newest state that was served; 0 if there is none.
    package func servedMark() async throws -> UInt64 {
        try await read(Self.servedPartition) { try await $0.get(Self.servedKey) }.map(Self.mark) ?? 0
    }

    /// Stores the next mark, durable on return, and returns it.
    package func advanceServedMark() async throws -> UInt64 {
        try await write(Self.servedPartition) { transaction in
            let mark = (try await transaction.get(Self.servedKey).map(Self.mark) ?? 0) + 1
            transaction.set(Self.servedKey, (0..<8).map { UInt8(truncatingIfNeeded: mark >> (56 - 8 * $0)) })
            return mark
        }
    }

    /// Reads what a store says about itself and changes nothing, not even its log.
    ///
    /// - Parameter ignoresLog: Whether the file is read as it is without its log.
    package static func inspect(path: String, ignoresLog: Bool = false) throws(StoreError) -> StoreInspection {
        let partitions = PartitionIDs()
        var handle = try Handle(
            path: path, options: Options(), role: ignoresLog ? .fileInspector : .inspector, partitions: partitions)
        guard try handle.isOurs() else { throw .notAStore(path: path) }
        let identity = try handle.identity()
        partitions.salt = identity.salt
        let mark = try handle.get(servedKey, in: servedPartition).map(Self.mark) ?? 0
        return StoreInspection(storeID: identity.salt, epoch: identity.epoch, servedMark: mark)
    }

    /// Whether the store in a file holds nothing.
    package static func isUnused(path: String) throws(StoreError) -> Bool {
        var handle = try Handle(path: path, options: Options(), role: .inspector, partitions: PartitionIDs())
        // Before its tables are made the file holds no store.
        guard try handle.isOurs() else { return true }
        return try handle.first(.anyEntry, step: { $0.step() }, take: { _ in false }) ?? true
    }

    private static func mark(_ bytes: Bytes) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
