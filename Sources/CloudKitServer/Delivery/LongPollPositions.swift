import Synchronization

/// The positions up to which web clients last received notifications; their next request confirms them.
final class LongPollPositions: Sendable {
    private let given = Mutex<[[UInt8]: UInt64]>([:])
    /// The most devices remembered; beyond that all are forgotten, and each receives again the notifications since its
    /// stored position.
    private static let devicesMax = 100_000

    /// Remembers that a device was given notifications up to a position.
    func gave(_ hash: [UInt8], up position: UInt64) {
        given.withLock { given in
            if given.count >= Self.devicesMax, given[hash] == nil { given.removeAll(keepingCapacity: true) }
            given[hash] = max(given[hash] ?? 0, position)
        }
    }

    /// Returns the position that a device confirms by asking again; nil: not known here.
    func confirmed(_ hash: [UInt8]) -> UInt64? { given.withLock { $0[hash] } }
}

/// A place in a user's queue as devices keep it.
enum QueuePosition {
    static func text(_ position: UInt64, epoch: UInt64) -> String { "\(String(epoch, radix: 36)).\(position)" }

    /// A place in a store that was replaced says nothing: everything that waits is given again.
    static func read(_ text: String, epoch: UInt64) -> UInt64 {
        let parts = text.split(separator: ".")
        guard parts.count == 2, UInt64(parts[0], radix: 36) == epoch else { return 0 }
        return UInt64(parts[1]).map { min($0, UInt64(Int64.max) - 1) } ?? 0
    }
}

/// Decides whether to store a device's position in the queue: it moved, or the device would count as gone.
enum QueuePositionWriteDecision {
    /// - Parameters:
    ///   - seen: When the place was last stored, milliseconds since 1970.
    ///   - held: The place as stored.
    ///   - position: The place as the device confirmed it.
    static func isDue(seen: Int64, held: UInt64, position: UInt64, now: Int64) -> Bool {
        let age = now - seen
        return age >= seenInterval || (position > held && age >= movedInterval)
    }

    /// Milliseconds. After a crash a web client gets at most what it was given in this time again.
    private static let movedInterval: Int64 = 10_000
    private static let seenInterval: Int64 = 43_200_000
}
