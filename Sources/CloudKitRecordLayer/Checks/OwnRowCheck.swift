import CloudKitModel
import OrderedStore

/// Checks the rows of the registry of partitions and of the directory of share links.
package enum OwnRowCheck {
    /// Checks a row.
    ///
    /// - Returns: The problem of the row; nil if there is none, or if the partition is another one.
    package static func problem(_ key: [UInt8], _ value: [UInt8], in partition: Partition) -> RowFinding? {
        guard partition == .registry || partition == .shareDirectory else { return nil }
        guard let subspace = key.first.flatMap(Subspace.init(rawValue:)) else {
            return .unknownKind
        }
        do {
            try check(Entry(key: key, value: value), in: subspace, isRegistry: partition == .registry)
        } catch {
            return RowFinding(subspace, "a row", "key or value are not of their kind's form")
        }
        return nil
    }

    private static func check(_ entry: Entry, in subspace: Subspace, isRegistry: Bool) throws {
        var key = KeyReader(entry.key, in: subspace)
        _ = try key.readString()
        switch subspace {
        case .knownPartition where isRegistry, .newlyPushedPartition where isRegistry:
            guard entry.value.isEmpty else { throw DamagedValue(subspace) }
        case .pendingOutbox where isRegistry, .pushedPartition where isRegistry:
            var value = ValueReader(entry.value, of: subspace)
            _ = try value.number(Int64.self)
        case .shareDirectory where !isRegistry: _ = try ShareLocation(decoding: entry.value)
        default: throw DamagedValue(subspace)
        }
    }
}
