import CloudKitModel
import Synchronization

/// Lets saves go before fetches of records where there are many of both.
///
/// A fetch that would exceed the limit waits a little, and is then refused with 503 and the seconds after which it may come again. It waits
/// because a client that comes again at once would otherwise cost nearly as much as if it had been answered.
final class FetchLimiter: Sendable {
    typealias Instant = ContinuousClock.Instant

    private typealias Waiter = CheckedContinuation<Bool, Never>

    private struct State {
        var queue: FetchQueue<Waiter>
        /// Whether a task looks after those that wait.
        var isWatched = false
    }

    private let state: Mutex<State>
    private let threads: LowPriorityThreads?
    private let now: @Sendable () -> Instant
    private let sleep: @Sendable (Duration) async throws -> Void
    private let onRefused: @Sendable () -> Void

    private static let retryAfterMax = 30.0

    /// - Parameters:
    ///   - threads: Run fetches beside saves; nil: fetches are not limited.
    ///   - onRefused: Called for each fetch that is refused.
    init(
        threads: LowPriorityThreads?, waitMax: Duration = .seconds(2), now: @escaping @Sendable () -> Instant,
        sleep: @escaping @Sendable (Duration) async throws -> Void,
        onRefused: @escaping @Sendable () -> Void
    ) {
        state = Mutex(State(queue: FetchQueue(threadCount: threads?.count ?? 1, waitMax: waitMax)))
        self.threads = threads
        self.now = now
        self.sleep = sleep
        self.onRefused = onRefused
    }

    deinit { threads?.stop() }

    /// The number of fetches that wait.
    var waiterCount: Int { state.withLock(\.queue.waiterCount) }

    /// Saves, which is never limited.
    func save<Answer>(_ body: () async throws -> Answer) async rethrows -> Answer {
        state.withLock { $0.queue.saveBegan() }
        defer {
            let now = now()
            state.withLock { $0.queue.saveEnded(at: now) }
        }
        return try await body()
    }

    /// Fetches as soon as a sender may.
    ///
    /// - Throws: `tryAgainLater`, and what the body throws.
    func fetch<Answer>(for sender: String, _ body: () async throws -> Answer) async throws -> Answer {
        guard let threads else { return try await body() }
        let now = now()
        switch state.withLock({ $0.queue.begin(for: sender, at: now) }) {
        case .unlimited:
            defer { end(sender, since: nil) }
            return try await body()
        case .besideSaves: break
        case .wait: guard await waitForTurn(sender) else { throw refusal() }
        }
        let start = self.now()
        defer { end(sender, since: start) }
        return try await withTaskExecutorPreference(threads) { try await body() }
    }

    private func end(_ sender: String, since start: Instant?) {
        let now = now()
        let turn = state.withLock { state in
            state.queue.end(for: sender, seconds: start.map { (now - $0) / .seconds(1) }, at: now)
            return state.queue.waiterCount > 0 ? state.queue.turn(at: now) : nil
        }
        if let turn { resume(turn) }
    }

    private func waitForTurn(_ sender: String) async -> Bool {
        await withCheckedContinuation { waiter in
            let now = now()
            let (isWaiting, isWatched) = state.withLock { state in
                guard state.queue.wait(waiter, for: sender, at: now) else { return (false, true) }
                defer { state.isWatched = true }
                return (true, state.isWatched)
            }
            if !isWaiting { waiter.resume(returning: false) }
            if !isWatched { Task { await watch() } }
        }
    }

    /// Lets those that wait go on or refuses them, until nobody waits.
    private func watch() async {
        while true {
            let now = now()
            let turn = state.withLock { state in
                let turn = state.queue.turn(at: now)
                if turn.next == nil { state.isWatched = false }
                return turn
            }
            resume(turn)
            guard let next = turn.next else { return }
            // An interrupted pause ends early.
            try? await sleep(next - now)
        }
    }

    private func resume(_ turn: FetchQueue<Waiter>.Turn) {
        for waiter in turn.granted { waiter.resume(returning: true) }
        for waiter in turn.refused { waiter.resume(returning: false) }
    }

    private func refusal() -> RequestFailure {
        onRefused()
        let delay = state.withLock(\.queue.delay)
        return RequestFailure(
            .tryAgainLater, "the server is busy with saves", remedy: "Try again after the given time.",
            retryAfter: min(max(1, delay.rounded(.up)), Self.retryAfterMax))
    }
}
