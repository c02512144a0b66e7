import Synchronization

/// Asks the store whether it can be read, with one question at a time, and waits for its answer no longer than a bound.
///
/// A database that is away is waited for by every read, for seconds: proxies that ask several times a second would neither get an answer in
/// time nor be allowed to fill the connections with their questions.
final class StoreProbe: Sendable {
    /// What is known of the store.
    enum Answer: Hashable, Sendable {
        case readable, unreadable
        /// It has not answered within the bound.
        case silent
    }

    private struct State {
        var isAsking = false
        var last = 0
        var waiting: [Int: Waiter] = [:]
    }

    private struct Waiter {
        var continuation: CheckedContinuation<Answer, Never>
        var timer: Task<Void, Never>

        func end(_ answer: Answer) {
            timer.cancel()
            continuation.resume(returning: answer)
        }
    }

    private let ask: @Sendable () async throws -> Void
    private let sleep: @Sendable (Duration) async throws -> Void
    private let state = Mutex(State())

    /// The time after which a store counts as silent.
    static let bound = Duration.seconds(1)

    /// - Parameters:
    ///   - sleep: Waits for the bound.
    ///   - ask: Reads from the store, and throws where that is impossible.
    init(
        sleep: @escaping @Sendable (Duration) async throws -> Void, ask: @escaping @Sendable () async throws -> Void
    ) {
        self.sleep = sleep
        self.ask = ask
    }

    /// Returns what the store answers; joins a question that is under way.
    func answer() async -> Answer {
        await withCheckedContinuation { continuation in
            let begins = state.withLock { state in
                state.last += 1
                let number = state.last
                state.waiting[number] = Waiter(
                    continuation: continuation, timer: Task { await self.giveUp(number) })
                defer { state.isAsking = true }
                return !state.isAsking
            }
            if begins { Task { await self.question() } }
        }
    }

    private func giveUp(_ number: Int) async {
        guard (try? await sleep(Self.bound)) != nil else { return }
        state.withLock { $0.waiting.removeValue(forKey: number) }?.end(.silent)
    }

    private func question() async {
        let answer: Answer
        do {
            try await ask()
            answer = .readable
        } catch {
            answer = .unreadable
        }
        let waiting = state.withLock { state in
            defer { (state.isAsking, state.waiting) = (false, [:]) }
            return state.waiting
        }
        for waiter in waiting.values { waiter.end(answer) }
    }
}
