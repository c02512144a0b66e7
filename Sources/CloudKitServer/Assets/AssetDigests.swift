import CloudKitRecordLayer
import Synchronization

/// Checksums of drafts between two pieces, so that a draft need not be read again for each of them.
///
/// A memory that may forget: whoever finds nothing, or something of another length, reads the draft's file.
final class AssetDigests: Sendable {
    private let held = Mutex<[AssetFileID: AssetChecksum]>([:])

    private static let countMax = 1000

    func take(_ id: AssetFileID) -> AssetChecksum? { held.withLock { $0.removeValue(forKey: id) } }

    func put(_ checksum: AssetChecksum, for id: AssetFileID) {
        held.withLock { held in
            if held.count >= Self.countMax, let other = held.keys.first { held[other] = nil }
            held[id] = checksum
        }
    }
}
