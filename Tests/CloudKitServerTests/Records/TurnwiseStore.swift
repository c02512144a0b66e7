import OrderedStore
import Synchronization

@testable import OrderedStoreSQLite

/// A store in memory whose writers take turns as those of the engine do, each turn only when all users that a test named wait for one or
/// have ended: which user has which turn does not depend on time.
final class TurnwiseStore: OrderedStore {
    /// One turn in the writer.
    struct Turn: Hashable {
        var user: String
        var partition: Partition
        /// Keys that were set or removed.
        var keyCount: Int
        var byteCount: Int
    }

    private struct State {
        var queue = TurnQueue<CheckedContinuation<Void, Never>>()
        var waiting: [String: Int] = [:]
        /// The users of whom each has a writer that waits before a turn is given; nil: turns are given at once.
        var active: Set<String>?
        var isTaken = false
        var turns: [Turn] = []
    }

    private let store = MemoryStore(epoch: 7)
    private let state = Mutex(State())

    var epoch: UInt64 { store.epoch }
    func renewEpoch(from epoch: UInt64) async throws { try await store.renewEpoch(from: epoch) }
    func commits() -> AsyncStream<Partition> { store.commits() }

    /// The turns in their order.
    var turns: [Turn] { state.withLock { $0.turns } }

    /// Gives turns only while each of these users has a writer that waits, from now on.
    func keepAllWaiting(_ users: Set<String>) {
        state.withLock { state in
            state.active = users
            state.turns = []
        }
    }

    /// Notes that a user writes no more.
    func end(_ user: String) {
        state.withLock { _ = $0.active?.remove(user) }
        giveTurn()
    }

    func read<Value: Sendable>(
        _ partition: Partition, _ body: nonisolated(nonsending) @Sendable (inout ReadTransaction) async throws -> Value
    ) async throws -> Value {
        try await store.read(partition, body)
    }

    func write<Value: Sendable>(
        _ partitions: [Partition],
        _ body: nonisolated(nonsending) @Sendable (inout WriteTransaction) async throws -> Value
    ) async throws -> Value {
        let user = WriteTurn.user ?? partitions.first?.name ?? ""
        await withCheckedContinuation { continuation in
            state.withLock { state in
                _ = state.queue.add(continuation, of: user)
                state.waiting[user, default: 0] += 1
            }
            giveTurn()
        }
        defer {
            state.withLock { $0.isTaken = false }
            giveTurn()
        }
        state.withLock { $0.waiting[user, default: 0] -= 1 }
        let (value, turn) = try await store.write(partitions) { transaction in
            let value = try await body(&transaction)
            return (value, Self.turn(of: user, transaction.writes))
        }
        state.withLock { $0.turns.append(turn) }
        return value
    }

    private static func turn(of user: String, _ writes: WriteSet) -> Turn {
        var keyCount = 0
        for changes in writes.partitions { changes.points.visit { _, _ in keyCount += 1 } }
        return Turn(user: user, partition: writes.home.partition, keyCount: keyCount, byteCount: writes.byteCount)
    }

    private func giveTurn() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if state.isTaken || !(state.active ?? []).allSatisfy({ state.waiting[$0, default: 0] > 0 }) { return nil }
            let next = state.queue.next()
            state.isTaken = next != nil
            return next
        }
        next?.resume()
    }
}
