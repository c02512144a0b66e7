import CloudKitModel

/// The size of a file's pieces, and the policy for repeating a failed one.
///
/// A piece is the part of a file that is held in memory and that is lost when a connection breaks. A slow connection
/// that breaks during a piece gets smaller ones.
package struct PieceSizing: Hashable, Sendable {
    /// Bytes of the next piece.
    private(set) var pieceBytes: Int
    private let pieceBytesMin: Int
    private let retries: RetryPolicy
    /// Since the last piece that came through.
    private var failures = 0

    init(pieceBytes: Int, retries: RetryPolicy) {
        self.pieceBytes = pieceBytes
        pieceBytesMin = min(pieceBytes, Self.pieceBytesMin)
        self.retries = retries
    }

    /// The size of a piece without another setting: 4 MB, in bytes.
    package static let pieceBytesDefault = 4 << 20
    static let pieceBytesMin = 256 << 10

    /// Notes that a piece was transferred: the count of failures begins again.
    package mutating func advanced() { failures = 0 }

    /// Returns the pause before the next attempt; nil: do not try again.
    mutating func delay(after failure: CallFailure, random: Double) -> Duration? {
        failures += 1
        pieceBytes = max(pieceBytesMin, pieceBytes / 2)
        return retries.delay(after: failure, attempt: failures, isRepeatable: true, random: random)
    }
}

extension RetryPolicy {
    /// A file transfer continues after a break even where the app wants a quick answer (B-OPS-04): the bytes sent so
    /// far are not lost.
    static let brokenTransfer = RetryPolicy(attemptsMax: 3, firstDelay: .milliseconds(250), delayMax: .seconds(5))
}

extension CallSettings {
    /// The policy for repeating pieces of files; counted from zero again after each piece that succeeded.
    var transferRetries: RetryPolicy { isDiscretionary ? .discretionary : .brokenTransfer }
}
