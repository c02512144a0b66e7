import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import OrderedStore
import Synchronization
import Testing

/// A database server that leads no longer and does not know it yet: it answers reads with what it had.
@Suite(.timeLimit(.minutes(20))) struct EarlierStateTests {
    /// A store whose reads of a partition are those of an earlier state, until it catches up.
    private final class EarlierStore: OrderedStore {
        private let newest = MemoryStore(epoch: 7)
        private let earlier = MemoryStore(epoch: 7)
        private let state = Mutex((partition: Partition?.none, catchUpCount: 0))

        var epoch: UInt64 { newest.epoch }
        var catchUpCount: Int { state.withLock { $0.catchUpCount } }
        func renewEpoch(from epoch: UInt64) async throws { try await newest.renewEpoch(from: epoch) }
        func commits() -> AsyncStream<Partition> { newest.commits() }

        /// Keeps the present state of a partition.
        func keep(_ partition: Partition) async throws {
            let everything = KeyRange(lower: [], upper: Bytes(repeating: 0xFF, count: 64))
            let entries = try await newest.read(partition) { try await $0.scan(everything, limit: .max) }
            try await earlier.write(partition) { transaction in
                for entry in entries { transaction.set(entry.key, entry.value) }
            }
        }

        /// Answers reads of a partition with the state that was kept.
        func goBack(in partition: Partition) { state.withLock { $0.partition = partition } }

        func catchUp() async throws -> Bool {
            state.withLock { $0 = (nil, $0.catchUpCount + 1) }
            return true
        }

        func read<Value: Sendable>(
            _ partition: Partition,
            _ body: nonisolated(nonsending) @Sendable (inout ReadTransaction) async throws -> Value
        ) async throws -> Value {
            let isEarlier = state.withLock { $0.partition == partition }
            return try await (isEarlier ? earlier : newest).read(partition, body)
        }

        func write<Value: Sendable>(
            _ partitions: [Partition],
            _ body: nonisolated(nonsending) @Sendable (inout WriteTransaction) async throws -> Value
        ) async throws -> Value {
            try await newest.write(partitions, body)
        }
    }

    @Test func `B-BKD-13 an earlier state that a node reads is not taken for that of a restored cloud`() async throws {
        let store = EarlierStore()
        let test = try TestCloud(store: store)
        let partition = Partition.privateDatabase(TestCloud.container, .development, of: TestCloud.ada)
        try await test.makeZone()
        try await test.modify([create("A")])
        try await store.keep(partition)
        try await test.modify([create("B")])
        try await test.makeZone("Y")
        let zone = try await test.changes().syncToken
        let database = try await test.databaseChanges().syncToken

        store.goBack(in: partition)
        #expect(try await test.changes(since: zone).events.isEmpty)
        #expect(store.catchUpCount == 1)
        store.goBack(in: partition)
        _ = try await test.databaseChanges(since: database)
        #expect(store.catchUpCount == 2)
        #expect(store.epoch == 7)
        #expect(test.cloud.storeHistory.renewals.isEmpty)
    }
}
