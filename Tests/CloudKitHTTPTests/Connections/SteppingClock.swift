import Synchronization

/// A clock that stands still until it is started; from then on an interval passes with each look.
final class SteppingClock: Sendable {
    private let interval: Duration
    private let state = Mutex((time: ContinuousClock.now, step: Duration.zero))

    init(by interval: Duration) { self.interval = interval }

    func start() { state.withLock { $0.step = interval } }

    func look() -> ContinuousClock.Instant {
        state.withLock { state in
            state.time += state.step
            return state.time
        }
    }
}
