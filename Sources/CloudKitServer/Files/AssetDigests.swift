import CloudKitRecordLayer
import Synchronization

/// Checksums of drafts between two pieces, so that a draft need not be read again for each of them.
///
/// A cache: on a miss, or for another length, the draft's file is read.
final class AssetDigests: Sendable {
    private let held = Mutex<[AssetFileID: AssetFileChecksum]>([:])

    private static let countMax = 1000

    func take(_ id: AssetFileID) -> AssetFileChecksum? { held.withLock { $0.removeValue(forKey: id) } }

    func put(_ checksum: AssetFileChecksum, for id: AssetFileID) {
        held.withLock { held in
            if held.count >= Self.countMax, let other = held.keys.first { held[other] = nil }
            held[id] = checksum
        }
    }
}
