import OrderedStore
import Synchronization

/// Another process's way to a store, in which that process is held up once, while others go on.
final class InterruptedStore: OrderedStore {
    typealias Interruption = @Sendable () async throws -> Void

    private let store: any OrderedStore
    private let state: Mutex<(callsLeft: Int, interruption: Interruption?)>

    /// - Parameters:
    ///   - call: Before which of the process's reads and writes it is held up, counted from 0.
    ///   - interruption: What others do meanwhile.
    init(_ store: any OrderedStore, before call: Int, _ interruption: @escaping Interruption) {
        self.store = store
        state = Mutex((call, interruption))
    }

    var epoch: UInt64 { store.epoch }
    var damage: StoreDamage { store.damage }
    func renewEpoch(from epoch: UInt64) async throws { try await store.renewEpoch(from: epoch) }

    /// A Boolean value that indicates whether the process was interrupted.
    var hasInterrupted: Bool { state.withLock { $0.interruption == nil } }

    func read<Value: Sendable>(
        _ partition: Partition, _ body: nonisolated(nonsending) @Sendable (inout ReadTransaction) async throws -> Value
    ) async throws -> Value {
        try await takeCall()
        return try await store.read(partition, body)
    }

    func write<Value: Sendable>(
        _ partitions: [Partition],
        _ body: nonisolated(nonsending) @Sendable (inout WriteTransaction) async throws -> Value
    ) async throws -> Value {
        try await takeCall()
        return try await store.write(partitions, body)
    }

    func commits() -> AsyncStream<Partition> { store.commits() }

    private func takeCall() async throws {
        let interruption = state.withLock { state -> Interruption? in
            state.callsLeft -= 1
            return state.callsLeft < 0 ? state.interruption.take() : nil
        }
        try await interruption?()
    }
}
