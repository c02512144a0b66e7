import AsyncLocks
import Synchronization

/// A store that lives as long as its process: for tests and for trying things out.
///
/// Writers follow one another; a reader holds the state of its start and never waits.
package final class MemoryStore: OrderedStore {
    /// The store's epoch, as it was given until it was renewed.
    package var epoch: UInt64 { heldEpoch.load(ordering: .acquiring) }
    private let heldEpoch: Atomic<UInt64>
    private let partitions = Mutex<[Partition: SortedMap<Bytes>]>([:])
    private let writers = AsyncMutex()
    private let hints = CommitHints()

    /// Creates a value with the given properties.
    package init(epoch: UInt64 = 1) {
        heldEpoch = Atomic(epoch)
    }

    /// Runs `body` on one state of the partition.
    package func read<Value: Sendable>(
        _ partition: Partition,
        _ body: @Sendable (inout ReadTransaction) async throws -> Value
    ) async throws -> Value {
        var transaction = ReadTransaction(home: partition, snapshot: snapshot(of: [partition]))
        return try await body(&transaction)
    }

    /// Runs `body` and applies its writes as one; other writers wait.
    package func write<Value: Sendable>(
        _ partitions: [Partition],
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async throws -> Value {
        await writers.lock()
        defer { writers.unlock() }
        try Task.checkCancellation()
        let (value, writes) = try await run(partitions, body)
        apply(writes)
        hints.publish(writes.partitions.filter { !$0.isEmpty }.map(\.partition))
        return value
    }

    /// Gives the store the next epoch, unless it has changed from `epoch` already.
    package func renewEpoch(from epoch: UInt64) async throws {
        _ = heldEpoch.compareExchange(expected: epoch, desired: epoch &+ 1, ordering: .acquiringAndReleasing)
    }

    /// Returns a stream of the partitions that are changed from now on.
    package func commits() -> AsyncStream<Partition> {
        hints.stream()
    }

    /// All rows of the store at a moment.
    package struct Contents: Sendable {
        fileprivate let partitions: [Partition: SortedMap<Bytes>]

        /// The names of the partitions, in order.
        package var partitionNames: [String] { partitions.keys.map(\.name).sorted() }
    }

    /// The rows that the store has now.
    package var contents: Contents { Contents(partitions: partitions.withLock { $0 }) }

    /// Puts earlier rows in the place of all that the store has, after the writes under way. Its epoch stays.
    package func restore(_ contents: Contents) async {
        await writers.lock()
        defer { writers.unlock() }
        partitions.withLock { $0 = contents.partitions }
    }

    /// On its own so that the snapshot is gone when the writes are applied: they then need no copy.
    private func run<Value: Sendable>(
        _ partitions: [Partition],
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async throws -> (Value, WriteSet) {
        var transaction = try WriteTransaction(partitions, snapshot: snapshot(of: partitions))
        let value = try await body(&transaction)
        return (value, transaction.writes)
    }

    private func snapshot(of names: [Partition]) -> MemorySnapshot {
        partitions.withLock { partitions in
            var content: [Partition: SortedMap<Bytes>] = [:]
            for name in names { content[name] = partitions[name] }
            return MemorySnapshot(content: content)
        }
    }

    private func apply(_ writes: WriteSet) {
        partitions.withLock { partitions in
            for changes in writes.partitions where !changes.isEmpty {
                // Taken out, so that it is changed in place.
                var content = partitions.removeValue(forKey: changes.partition) ?? SortedMap()
                for range in changes.clears { content.removeAll(in: range) }
                changes.points.visit { content[$0] = $1 }
                partitions[changes.partition] = content
            }
        }
    }
}

private struct MemorySnapshot: Snapshot {
    let content: [Partition: SortedMap<Bytes>]

    func get(_ key: Bytes, in partition: Partition) -> Bytes? {
        content[partition]?[key]
    }

    func get(_ keys: [Bytes], in partition: Partition) -> [Bytes?] {
        keys.map { content[partition]?[$0] }
    }

    func scan(_ range: KeyRange, in partition: Partition, limit: Int, reverse: Bool) -> [Entry] {
        (content[partition]?.entries(in: range, limit: limit, reverse: reverse) ?? [])
            .map { Entry(key: $0.key, value: $0.value) }
    }
}
