import Synchronization

/// An instant that the test moves.
final class ManualClock: Sendable {
    private let instant: Mutex<ContinuousClock.Instant>

    init(_ start: ContinuousClock.Instant) { instant = Mutex(start) }

    var now: ContinuousClock.Instant { instant.withLock { $0 } }

    func advance(by duration: Duration) { instant.withLock { $0 += duration } }
}
