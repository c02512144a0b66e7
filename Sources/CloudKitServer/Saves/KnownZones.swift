import CloudKitRecordLayer
import Synchronization

/// What this process last saw of zones that it read or wrote, by which a request tells the store what it is about to read.
///
/// Nothing else rests on it: a zone that was made again has another number, and the request reads that.
final class KnownZones: Sendable {
    struct Zone: Hashable {
        var number: UInt32
        /// Whether changes in it may have to be notified of.
        var hasSubscriptions: Bool
    }

    private struct Name: Hashable {
        var partition: StoragePartition
        var zone: String
    }

    private let zones = Mutex<[Name: Zone]>([:])

    /// About 100 bytes each.
    private static let countMax = 20_000

    func zone(named name: String, in partition: StoragePartition) -> Zone? {
        zones.withLock { $0[Name(partition: partition, zone: name)] }
    }

    /// - Parameter hasSubscriptions: nil: as known, or none.
    func note(_ zone: ZoneHeader, hasSubscriptions: Bool? = nil, in partition: StoragePartition) {
        let name = Name(partition: partition, zone: zone.name)
        zones.withLock { zones in
            let known = zones[name]
            if zones.count >= Self.countMax, known == nil { zones = [:] }
            zones[name] = Zone(
                number: zone.number, hasSubscriptions: hasSubscriptions ?? known?.hasSubscriptions ?? false)
        }
    }
}
