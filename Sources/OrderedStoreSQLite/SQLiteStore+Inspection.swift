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
        let mark = try handle.get(ServedMark.key, in: ServedMark.partition).map(ServedMark.mark) ?? 0
        return StoreInspection(storeID: identity.salt, epoch: identity.epoch, servedMark: mark)
    }

    /// Whether the store in a file holds nothing.
    package static func isUnused(path: String) throws(StoreError) -> Bool {
        var handle = try Handle(path: path, options: Options(), role: .inspector, partitions: PartitionIDs())
        // Before its tables are made the file holds no store.
        guard try handle.isOurs() else { return true }
        return try handle.first(.anyEntry, step: { $0.step() }, take: { _ in false }) ?? true
    }
}
