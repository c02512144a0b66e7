import Synchronization

/// A clock that stands still until it is started; from then on an interval passes with each look.
final class SteppingClock: Sendable {
    private let interval: Duration
    private let isStarted = Atomic(false)
    private let time = Mutex(ContinuousClock.now)

    init(by interval: Duration) { self.interval = interval }

    func start() { isStarted.store(true, ordering: .relaxed) }

    func look() -> ContinuousClock.Instant {
        time.withLock { time in
            if isStarted.load(ordering: .relaxed) { time += interval }
            return time
        }
    }
}
