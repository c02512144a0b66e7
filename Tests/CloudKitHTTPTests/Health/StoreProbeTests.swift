import OrderedStore
import Synchronization
import Testing

@testable import CloudKitHTTP

@Suite(.timeLimit(.minutes(5))) struct StoreProbeTests {
    @Test func `a store that says nothing is asked once, however many wait for its answer`() async throws {
        let store = StalledStore()
        let probe = StoreProbe(sleep: { _ in }, ask: { try await store.ask() })
        let answers = await withTaskGroup(of: StoreProbe.Answer.self) { group in
            for _ in 0..<20 { group.addTask { await probe.answer() } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: .silent, count: 20))
        #expect(store.asked == 1)
        store.go(on: true)
    }

    @Test(arguments: [true, false]) func `the answer of the store is that of the probe`(isReadable: Bool) async throws {
        let store = StalledStore()
        store.go(on: isReadable)
        let probe = StoreProbe(sleep: { try await Task.sleep(for: $0 * 3600) }, ask: { try await store.ask() })
        for _ in 0..<2 { #expect(await probe.answer() == (isReadable ? .readable : .unreadable)) }
        #expect(store.asked == 2)
    }

    @Test func `a cloud whose store is away says so within a bound, and that it lives`() async throws {
        let store = StalledStore()
        try await TestCloud.run(store: store) { cloud in
            let live = try await cloud.client.get("/health?live")
            #expect(live.status == 200 && live["status"] as? String == "ok")
            #expect(store.asked == 0)
            let health = try await cloud.client.get("/health")
            #expect(health.status == 503 && health["status"] as? String == "failing")
            #expect(health["store"] as? String == "silent")
            #expect(store.asked == 1)
            store.go(on: false)
            cloud.application.drain()
            #expect(try await cloud.client.get("/health?live").status == 503)
        }
    }
}

/// A store whose database does not answer until it may.
private final class StalledStore: OrderedStore {
    private struct State {
        var asked = 0
        var isReadable: Bool?
        var waiting: [CheckedContinuation<Bool, Never>] = []
    }

    private let state = Mutex(State())
    let epoch: UInt64 = 1

    /// The questions so far.
    var asked: Int { state.withLock { $0.asked } }

    /// Lets reads go on.
    func go(on isReadable: Bool) {
        let waiting = state.withLock { state in
            state.isReadable = isReadable
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: isReadable) }
    }

    func ask() async throws {
        let isReadable = await withCheckedContinuation { continuation in
            let known = state.withLock { state in
                state.asked += 1
                if state.isReadable == nil { state.waiting.append(continuation) }
                return state.isReadable
            }
            if let known { continuation.resume(returning: known) }
        }
        if !isReadable { throw StoreError.closed }
    }

    func renewEpoch(from epoch: UInt64) async throws { throw StoreError.closed }

    func read<Value: Sendable>(
        _ partition: Partition, _ body: @Sendable (inout ReadTransaction) async throws -> Value
    ) async throws -> Value {
        try await ask()
        throw StoreError.closed
    }

    func write<Value: Sendable>(
        _ partitions: [Partition], _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async throws -> Value { throw StoreError.closed }

    func commits() -> AsyncStream<Partition> { AsyncStream { $0.finish() } }
}
