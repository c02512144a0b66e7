import CloudKitModel

/// How large the pieces of a file are, and when a broken one is sent or fetched again.
///
/// A piece is what is in memory of a file and what a break costs. A slow connection that breaks over a piece gets smaller
/// ones.
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

    package static let pieceBytesDefault = 4 << 20
    static let pieceBytesMin = 256 << 10

    package mutating func advanced() { failures = 0 }

    /// How long to wait before going on; nil: do not.
    mutating func delay(after failure: CallFailure, random: Double) -> Duration? {
        failures += 1
        pieceBytes = max(pieceBytesMin, pieceBytes / 2)
        return retries.delay(after: failure, attempt: failures, isRepeatable: true, random: random)
    }
}

extension RetryPolicy {
    /// A file on its way goes on after a break even where the app wants to know soon (B-OPS-04): what was sent is not lost.
    static let brokenTransfer = RetryPolicy(attemptsMax: 3, firstDelay: .milliseconds(250), delayMax: .seconds(5))
}

extension CallSettings {
    /// For the pieces of files; counted anew after each piece that came through.
    var transferRetries: RetryPolicy { isDiscretionary ? .discretionary : .brokenTransfer }
}
