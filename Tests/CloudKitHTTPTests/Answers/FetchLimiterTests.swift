import CloudKitModel
import Synchronization
import Testing

@testable import CloudKitHTTP

@Suite(.timeLimit(.minutes(20))) struct FetchLimiterTests {
    /// The time as a test sets it, and the fetches that were refused. Pauses pass at once.
    private final class Observer: Sendable {
        private let state = Mutex((now: ContinuousClock.Instant.now, refused: 0))

        var refusedCount: Int { state.withLock(\.refused) }

        func limiter(threads: LowPriorityThreads?, waitMax: Duration = .seconds(2)) -> FetchLimiter {
            FetchLimiter(
                threads: threads, waitMax: waitMax, now: { self.state.withLock(\.now) },
                sleep: { time in
                    self.state.withLock { $0.now += time }
                    await Task.yield()
                }, onRefused: { self.state.withLock { $0.refused += 1 } })
        }
    }

    /// Fetches that go on when they are told.
    private final class HeldFetches: Sendable {
        private let continuations = Mutex<[CheckedContinuation<Void, Never>]>([])

        var count: Int { continuations.withLock(\.count) }
        func hold() async { await withCheckedContinuation { held in continuations.withLock { $0.append(held) } } }
        func release() { for held in continuations.withLock({ $0 }) { held.resume() } }

        /// Runs fetches that are held while `body` lasts.
        func run(
            _ wanted: Int, by limiter: FetchLimiter, while body: () async throws -> Void = {}
        ) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<wanted { group.addTask { try await limiter.fetch(for: "ada") { await self.hold() } } }
                while count < wanted { await Task.yield() }
                try await body()
                release()
                try await group.waitForAll()
            }
        }
    }

    @Test func `beside saves, fetches beyond a few wait for each other and are refused after a while`() async throws {
        let observer = Observer()
        let limiter = observer.limiter(threads: LowPriorityThreads(count: 1), waitMax: .milliseconds(300))
        try await limiter.save {
            try await HeldFetches().run(4, by: limiter) {
                let failure = await #expect(throws: RequestFailure.self) { try await limiter.fetch(for: "bob") {} }
                #expect(failure?.code == .tryAgainLater)
                #expect(failure?.retryAfter == 1)
            }
            #expect(try await limiter.fetch(for: "bob") { 7 } == 7)
        }
        #expect(observer.refusedCount == 1)
        #expect(limiter.waiterCount == 0)
    }

    @Test func `fetches go on while those that run wait for something else`() async throws {
        let limiter = Observer().limiter(threads: LowPriorityThreads(count: 1))
        try await limiter.save { try await HeldFetches().run(20, by: limiter) }
    }

    @Test func `a fetch beside saves runs on a thread of low priority, and a failure comes through`() async throws {
        struct Failure: Error {}
        let limiter = Observer().limiter(threads: LowPriorityThreads(count: 1))
        try await limiter.save {
            try await HeldFetches().run(1, by: limiter) {
                let executors = try await limiter.fetch(for: "bob") {
                    (unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor != nil }, 7)
                }
                #expect(executors == (true, 7))
                await #expect(throws: Failure.self) { try await limiter.fetch(for: "bob") { throw Failure() } }
            }
        }
    }

    @Test func `without threads nothing is limited`() async throws {
        let limiter = Observer().limiter(threads: nil)
        try await limiter.save { try await HeldFetches().run(100, by: limiter) }
    }

    @Test func `threads run what they are given until they are stopped, and then the caller does`() async throws {
        let threads = LowPriorityThreads(count: 2)
        for number in 0..<100 { #expect(await withTaskExecutorPreference(threads) { number } == number) }
        threads.stop()
        #expect(await withTaskExecutorPreference(threads) { 7 } == 7)
    }
}
