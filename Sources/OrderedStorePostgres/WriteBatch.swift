import OrderedStore
import Synchronization

/// A transaction of the server that writers of the same partitions share.
final class WriteBatch: Sendable {
    private struct Waiting {
        var outcome: Result<Void, PostgresFailure>?
        var continuations: [CheckedContinuation<Result<Void, PostgresFailure>, Never>] = []
    }

    let connection: PostgresConnection
    /// What the partitions hold on the server.
    let snapshot: PostgresSnapshot
    /// The writes of the bodies that have had their turn.
    private let writes: Mutex<WriteTransaction>
    private let waiting = Mutex(Waiting())

    init(_ partitions: [Partition], _ connection: PostgresConnection, _ snapshot: PostgresSnapshot) throws(StoreError) {
        self.connection = connection
        self.snapshot = snapshot
        writes = Mutex(try WriteTransaction(partitions, snapshot: snapshot))
    }

    /// Runs a body on the state that the bodies before it left, and returns its value with its writes, which are not yet added.
    func run<Value: Sendable>(
        _ partitions: [Partition],
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async throws -> (Value, WriteSet) {
        let earlier = writes.withLock { $0 }
        var transaction = try WriteTransaction(
            partitions, snapshot: earlier.writes.isEmpty ? snapshot : BatchedWrites(writes: earlier))
        let value = try await body(&transaction)
        return (value, transaction.writes)
    }

    /// Adds the writes of a body.
    ///
    /// - Throws: A key that is too long for the server; then nothing is added.
    func add(_ added: WriteSet) throws(StoreError) {
        for changes in added.partitions {
            var isTooLong = false
            changes.points.visit { key, _ in isTooLong = isTooLong || key.count > Self.keyBytesMax }
            if isTooLong { throw .keyTooLong }
        }
        try writes.withLock { (writes) throws(StoreError) in
            for changes in added.partitions where !changes.isEmpty {
                let partition = changes.partition
                for range in changes.clears { try writes.clear(range, in: partition) }
                try changes.points.visit { (key, value) throws(StoreError) in
                    if let value {
                        try writes.set(key, value, in: partition)
                    } else {
                        try writes.clear(key, in: partition)
                    }
                }
            }
        }
    }

    /// All that is to be written.
    var allWrites: WriteSet { writes.withLock { $0.writes } }

    /// PostgreSQL keeps a whole entry of an index on a third of a page.
    private static let keyBytesMax = 2600

    // MARK: The outcome

    /// Reports the outcome to all who share the batch.
    func finish(_ outcome: Result<Void, PostgresFailure>) {
        let continuations = waiting.withLock { waiting in
            waiting.outcome = outcome
            defer { waiting.continuations = [] }
            return waiting.continuations
        }
        for continuation in continuations { continuation.resume(returning: outcome) }
    }

    /// Returns when the batch is durable, or has failed. A cancelled task waits too: it must know whether its write took effect.
    func wait() async -> Result<Void, PostgresFailure> {
        await withCheckedContinuation { continuation in
            let outcome = waiting.withLock { waiting in
                if waiting.outcome == nil { waiting.continuations.append(continuation) }
                return waiting.outcome
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
    }
}
