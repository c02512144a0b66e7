import CloudKitModel

/// The size of a file's pieces, and the policy for repeating a failed one.
///
/// A piece is the part of a file that is held in memory and that is lost when a connection breaks. A slow connection
/// that breaks during a piece gets smaller ones.
package struct PieceSizing: Sendable {
    /// Bytes of the next piece.
    private(set) var pieceBytes: Int
    private let pieceBytesMin: Int
    private let retries: RetryPolicy
    /// The failures since the last piece that came through; nil: there are none.
    private var history: RetryHistory?

    init(pieceBytes: Int, retries: RetryPolicy) {
        self.pieceBytes = pieceBytes
        pieceBytesMin = min(pieceBytes, Self.pieceBytesMin)
        self.retries = retries
    }

    /// The size of a piece without another setting: 4 MB, in bytes.
    package static let pieceBytesDefault = 4 << 20
    static let pieceBytesMin = 256 << 10

    /// Notes that a piece was transferred: the count of failures begins again.
    package mutating func advanced() { history = nil }

    /// Returns the pause before the next attempt; nil: do not try again.
    mutating func delay(after failure: CallFailure, of cloud: CloudAccess) -> Duration? {
        switch RetryPolicy.cause(of: failure, isRepeatable: true) {
        case .lost, .timedOut: pieceBytes = max(pieceBytesMin, pieceBytes / 2)
        default: break
        }
        // A piece may take long: the time counts from its first failure.
        var history = self.history ?? RetryHistory(start: cloud.clientEnvironment.now())
        defer { self.history = history }
        return history.delay(after: failure, by: retries, isRepeatable: true, of: cloud)
    }
}

extension RetryPolicy {
    /// A file transfer continues after a break even where the app wants a quick answer (B-OPS-04): the bytes sent so
    /// far are not lost.
    static let brokenTransfer = RetryPolicy(
        attemptsMax: 3, lostAttemptsMax: 8, firstDelay: .milliseconds(250), delayMax: .seconds(5),
        patience: .seconds(60), restartPatience: .seconds(10))
}

extension CallSettings {
    /// The policy for repeating pieces of files; counted from zero again after each piece that succeeded.
    var transferRetries: RetryPolicy { isDiscretionary ? .discretionary : .brokenTransfer }
}
