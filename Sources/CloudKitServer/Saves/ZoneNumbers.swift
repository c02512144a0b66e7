import CloudKitRecordLayer
import Synchronization

/// The numbers that zones had when this process last wrote to them, by which a save tells the store what it is about to read.
///
/// Nothing else rests on them: a zone that was made again has another number, and the save reads that.
final class ZoneNumbers: Sendable {
    private struct Name: Hashable {
        var partition: StoragePartition
        var zone: String
    }

    private let numbers = Mutex<[Name: UInt32]>([:])

    /// About 100 bytes each.
    private static let countMax = 20_000

    func number(ofZone name: String, in partition: StoragePartition) -> UInt32? {
        numbers.withLock { $0[Name(partition: partition, zone: name)] }
    }

    func note(_ zone: ZoneHeader, in partition: StoragePartition) {
        let name = Name(partition: partition, zone: zone.name)
        numbers.withLock { numbers in
            if numbers.count >= Self.countMax, numbers[name] == nil { numbers = [:] }
            numbers[name] = zone.number
        }
    }
}
