/// The reads that an engine offers inside a transaction: one state of the store, by key and by range.
package protocol Snapshot: Sendable {
    /// The value under `key`; nil where there is none.
    func get(_ key: Bytes, in partition: Partition) async throws -> Bytes?

    /// The values under `keys`, in their order; nil where there is none.
    func get(_ keys: [Bytes], in partition: Partition) async throws -> [Bytes?]

    /// The first `limit` entries of `range` in key order, or from its end, last first, when `reverse`.
    func scan(_ range: KeyRange, in partition: Partition, limit: Int, reverse: Bool) async throws -> [Entry]

    /// The first `limit` rows of `range` in key order, damaged ones too.
    func rows(_ range: KeyRange, in partition: Partition, limit: Int) async throws -> [RawEntry]
}

extension Snapshot {
    /// The entries of a store that keeps its values in memory.
    package func rows(_ range: KeyRange, in partition: Partition, limit: Int) async throws -> [RawEntry] {
        try await scan(range, in: partition, limit: limit, reverse: false)
            .map { RawEntry(key: $0.key, value: $0.value) }
    }
}
