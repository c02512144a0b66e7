/// An ordered, transactional store of bytes: everything Welkin asks of an engine.
///
/// A transaction sees one consistent state of its partitions. The body of a write may run more than once and must have
/// no effect but the transaction's own; what it returns is handed on only after its writes are durable. A body that
/// throws leaves nothing behind. The body of a read may run more than once as well, when the engine is another process
/// and the connection to it is lost.
///
/// A body awaits nothing but its transaction: it holds up the writers behind it. It never calls `write` of the same
/// store, which would wait for itself.
package protocol OrderedStore: Sendable {
    /// The identity of the store's content: drawn at random when the store was created, the same as long as
    /// it lives. Sync tokens carry it, so that a replaced store is noticed.
    var epoch: UInt64 { get }

    /// Reads one partition.
    func read<Value: Sendable>(
        _ partition: Partition,
        _ body: @Sendable (inout ReadTransaction) async throws -> Value
    ) async throws -> Value

    /// Reads one partition, most likely nothing of it but some keys: an engine for which each read takes a round trip reads them together, without
    /// a transaction. A body that reads more runs once more, in one.
    func read<Value: Sendable>(
        _ partition: Partition, expecting keys: [Bytes],
        _ body: @Sendable (inout ReadTransaction) async throws -> Value
    ) async throws -> Value

    /// Reads and writes partitions, all or nothing, durable on return.
    ///
    /// - Parameter partitions: The first is the transaction's home: keys given without a partition belong to it.
    func write<Value: Sendable>(
        _ partitions: [Partition],
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async throws -> Value

    /// Makes sure that reads from now on see every commit that was acknowledged before, by this process or another one.
    ///
    /// - Returns: Whether earlier reads may have seen less.
    func catchUp() async throws -> Bool

    /// Returns a stream of the partitions that changed: a hint to look again, never the truth. Each call gives a stream of
    /// its own; a slow listener may miss hints of partitions that were reported to it before.
    func commits() -> AsyncStream<Partition>

    /// The damaged values that were met. A read of one throws `StoreError.Code.damagedValue`.
    var damage: StoreDamage { get }

    /// Gives the store another epoch, durable on return, unless it has changed from `epoch` already: tokens of devices that
    /// know a later state of the store than it has expire.
    func renewEpoch(from epoch: UInt64) async throws
}

extension OrderedStore {
    /// No damage: the store keeps its values in memory.
    package var damage: StoreDamage { .none }

    /// Does nothing: there is one state, which all reads see.
    package func catchUp() async throws -> Bool { false }

    /// Reads one partition: the values are at hand, whichever keys are read.
    package func read<Value: Sendable>(
        _ partition: Partition, expecting keys: [Bytes],
        _ body: @Sendable (inout ReadTransaction) async throws -> Value
    ) async throws -> Value {
        try await read(partition, body)
    }
}

extension OrderedStore {
    /// Runs `body` and applies its writes to the partitions as one.
    package func write<Value: Sendable>(
        _ partition: Partition,
        _ body: @Sendable (inout WriteTransaction) async throws -> Value
    ) async throws -> Value {
        try await write([partition], body)
    }
}
