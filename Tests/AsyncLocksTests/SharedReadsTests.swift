import Synchronization
import Testing

@testable import AsyncLocks

/// Callers who come while a value is read share the read after it.
@Suite(.timeLimit(.minutes(20))) struct SharedReadsTests {
    /// Reads that end when the test says so.
    private final class Source: Sendable {
        private let state = Mutex((count: 0, waiting: [CheckedContinuation<Result<Int, any Error>, Never>]()))

        var readCount: Int { state.withLock { $0.count } }

        func read() async throws -> Int {
            try await withCheckedContinuation { continuation in
                state.withLock { state in
                    state.count += 1
                    state.waiting.append(continuation)
                }
            }.get()
        }

        func end(_ result: Result<Int, any Error>) {
            state.withLock { $0.waiting.removeFirst() }.resume(returning: result)
        }
    }

    private struct Failure: Error {}

    private let reads = SharedReads<String, Int>()
    private let source = Source()

    private func caller(of key: String = "a") -> Task<Int, any Error> {
        Task { [reads, source] in try await reads.value(of: key) { try await source.read() } }
    }

    private func wait(until condition: () -> Bool) async {
        while !condition() { await Task.yield() }
    }

    @Test func `callers who come while a value is read get the next one, which is read once`() async throws {
        let first = caller()
        await wait { source.readCount == 1 }
        let later = (0..<5).map { _ in caller() }
        await wait { reads.waitingCount(of: "a") == 5 }
        source.end(.success(1))
        #expect(try await first.value == 1)
        await wait { source.readCount == 2 }
        source.end(.success(2))
        for caller in later { #expect(try await caller.value == 2) }
        #expect(source.readCount == 2)
        #expect(reads.isEmpty)
    }

    @Test func `another key has reads of its own`() async throws {
        let first = caller()
        await wait { source.readCount == 1 }
        let other = caller(of: "b")
        await wait { source.readCount == 2 }
        source.end(.success(1))
        source.end(.success(2))
        #expect(try await first.value == 1)
        #expect(try await other.value == 2)
        #expect(reads.isEmpty)
    }

    @Test func `a read that fails, fails for its caller alone`() async throws {
        let first = caller()
        await wait { source.readCount == 1 }
        let later = (0..<3).map { _ in caller() }
        await wait { reads.waitingCount(of: "a") == 3 }
        source.end(.failure(Failure()))
        await #expect(throws: Failure.self) { try await first.value }
        await wait { source.readCount == 2 }
        source.end(.failure(CancellationError()))
        // The other two read for themselves.
        await wait { source.readCount == 4 }
        source.end(.success(3))
        source.end(.success(3))
        var values: [Int?] = []
        for caller in later { values.append(try? await caller.value) }
        #expect(values.compactMap { $0 } == [3, 3])
        #expect(reads.isEmpty)
    }
}
