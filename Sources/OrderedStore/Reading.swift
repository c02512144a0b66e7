/// The reads that every transaction offers in its home partition: functions written over it serve reads and writes alike.
package protocol Reading: Sendable {
    /// The partition that keys belong to.
    var home: Partition { get }

    /// The value under `key`; nil where there is none.
    func get(_ key: Bytes) async throws -> Bytes?

    /// The values under `keys`, in their order; nil where there is none.
    func get(_ keys: [Bytes]) async throws -> [Bytes?]

    /// The first `limit` entries of `range` in key order, or from its end, last first, when `reverse`.
    func scan(_ range: KeyRange, limit: Int, reverse: Bool) async throws -> [Entry]
}

extension Reading {
    /// The first `limit` entries of `range` in key order.
    package func scan(_ range: KeyRange, limit: Int) async throws -> [Entry] {
        try await scan(range, limit: limit, reverse: false)
    }
}
