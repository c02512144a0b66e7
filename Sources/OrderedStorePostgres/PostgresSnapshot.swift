import OrderedStore
import Synchronization

/// One state of the store, as a transaction of the server sees it.
///
/// A reader's is that of its first statement. A writer's is the newest state of the partitions that it has locked, which nobody else
/// changes until it ends; what was read once is remembered, as all writes of a batch ask for the same rows.
final class PostgresSnapshot: Snapshot {
    private struct State {
        /// Sent together with the first statement.
        var first: [PostgresRequest]
        var failure: PostgresFailure?
        /// The values that were read by key, of a batch of writes.
        var known: [Partition: [Bytes: Bytes?]] = [:]
        /// All entries of ranges that were read.
        var knownRanges: [Partition: [KeyRange: [Entry]]] = [:]
        var knownByteCount = 0
    }

    private let connection: PostgresConnection
    private let values: PostgresValues
    private let turn: Int
    private let remembers: Bool
    private let expected: @Sendable () -> ExpectedReads
    private let state: Mutex<State>

    /// More is not remembered, in bytes.
    private static let knownBytesMax = 4 << 20

    /// - Parameters:
    ///   - first: Statements that begin the transaction; none: it was begun.
    ///   - remembers: Whether the partitions are locked.
    ///   - expected: Returns what is read together with something else, since writers that wait will ask for it.
    init(
        _ connection: PostgresConnection, values: PostgresValues, turn: Int, first: [PostgresRequest], remembers: Bool,
        expected: @escaping @Sendable () -> ExpectedReads = { ExpectedReads() }
    ) {
        self.connection = connection
        self.values = values
        self.turn = turn
        self.remembers = remembers
        self.expected = expected
        state = Mutex(State(first: first))
    }

    /// The failure of a statement, which ended the transaction, whatever the body made of it.
    var failure: PostgresFailure? { state.withLock { $0.failure } }

    /// Whether a statement was sent.
    var hasBegun: Bool { state.withLock { $0.first.isEmpty } }

    func get(_ key: Bytes, in partition: Partition) async throws(StoreError) -> Bytes? {
        if remembers, let known = state.withLock({ $0.known[partition]?[key] }) { return known }
        return try await get([key], in: partition)[0]
    }

    func get(_ keys: [Bytes], in partition: Partition) async throws(StoreError) -> [Bytes?] {
        if keys.isEmpty { return [] }
        guard remembers else { return try await read(keys, in: partition) }
        var found = [Bytes?](repeating: nil, count: keys.count)
        var missing: [Int] = []
        state.withLock { state in
            let known = state.known[partition]
            for (index, key) in keys.enumerated() {
                if let value = known?[key] { found[index] = value } else { missing.append(index) }
            }
        }
        if missing.isEmpty { return found }
        let wanted = missing.map { keys[$0] }
        let read = try await read(wanted, ahead: expectedKeys(besides: wanted, in: partition), in: partition)
        for (index, value) in zip(missing, read) { found[index] = value }
        remember(wanted, read, in: partition)
        return found
    }

    /// Returns the keys that waiting writers will ask for, as far as they are not known.
    private func expectedKeys(besides wanted: [Bytes], in partition: Partition) -> [Bytes] {
        // Ranges are the same for all writers of a partition, and were read for the first one.
        let expected = Set(expected().keys)
        if expected.isEmpty { return [] }
        return state.withLock { state in
            guard state.knownByteCount < Self.knownBytesMax else { return [] }
            let known = state.known[partition]
            return expected.subtracting(wanted).filter { known?[$0] == nil }
        }
    }

    func scan(
        _ range: KeyRange, in partition: Partition, limit: Int, reverse: Bool
    ) async throws(StoreError) -> [Entry] {
        if remembers, let known = state.withLock({ $0.knownRanges[partition]?[range] }) {
            return Array(reverse ? known.reversed().prefix(limit) : known.prefix(limit))
        }
        let key = values.key(of: partition)
        let rows = try await exchange { (session, first) throws(PostgresFailure) in
            try session.entries(in: range, of: key, limit: limit, reverse: reverse, first: first)
        }
        let entries = try values.entries(rows, of: key, in: partition)
        if remembers, entries.count < limit, entries.count <= PostgresRequest.expectedEntriesMax {
            remember(range, reverse ? entries.reversed() : entries, in: partition)
        }
        return entries
    }

    func rows(_ range: KeyRange, in partition: Partition, limit: Int) async throws(StoreError) -> [RawEntry] {
        let key = values.key(of: partition)
        let rows = try await exchange { (session, first) throws(PostgresFailure) in
            try session.entries(in: range, of: key, limit: limit, reverse: false, first: first)
        }
        return values.rawEntries(rows, of: key, in: partition)
    }

    /// - Parameter ahead: Keys that are read in the same exchange, and remembered.
    private func read(
        _ keys: [Bytes], ahead: [Bytes] = [], in partition: Partition
    ) async throws(StoreError) -> [Bytes?] {
        let key = values.key(of: partition)
        let rows = try await exchange { (session, first) throws(PostgresFailure) in
            try session.entries(under: keys + ahead, in: key, first: first)
        }
        if ahead.isEmpty { return try values.values(keys, from: rows, of: key, in: partition) }
        let others = Set(ahead)
        remember(ahead, rows.filter { others.contains($0.key) }, in: partition)
        let own = rows.filter { !others.contains($0.key) }
        return try values.values(keys, from: own, of: key, in: partition)
    }

    /// Remembers what was read for those who expect it.
    func remember(_ expected: ExpectedReads, _ rows: FoundRows, in partition: Partition) {
        remember(expected.keys, rows.ofKeys, in: partition)
        let key = values.key(of: partition)
        for (range, rows) in zip(expected.ranges, rows.ofRanges) where rows.count <= PostgresRequest.expectedEntriesMax
        {
            // A damaged one is reported to who reads the range.
            if let entries = try? values.entries(rows, of: key, in: partition) {
                remember(range, entries, in: partition)
            }
        }
    }

    /// Remembers the rows under keys that nobody has asked for yet; a damaged one is read again by who asks.
    private func remember(_ keys: [Bytes], _ rows: [StoredEntry], in partition: Partition) {
        if keys.isEmpty { return }
        let sound = values.rawEntries(rows, of: values.key(of: partition), in: partition)
        let damaged = Set(sound.filter { $0.value == nil }.map(\.key))
        let found = Dictionary(sound.map { ($0.key, $0.value) }) { first, _ in first }
        let usable = damaged.isEmpty ? keys : keys.filter { !damaged.contains($0) }
        remember(usable, usable.map { found[$0] ?? nil }, in: partition)
    }

    private func remember(_ keys: [Bytes], _ read: [Bytes?], in partition: Partition) {
        state.withLock { state in
            guard state.knownByteCount < Self.knownBytesMax else { return }
            for (key, value) in zip(keys, read) {
                state.known[partition, default: [:]][key] = .some(value)
                state.knownByteCount += key.count + (value?.count ?? 0)
            }
        }
    }

    /// - Parameter entries: All of the range, in the order of their keys.
    private func remember(_ range: KeyRange, _ entries: [Entry], in partition: Partition) {
        state.withLock { state in
            guard state.knownByteCount < Self.knownBytesMax else { return }
            state.knownRanges[partition, default: [:]][range] = entries
            state.knownByteCount += entries.reduce(range.lower.count) { $0 + $1.key.count + $1.value.count }
        }
    }

    /// Runs statements on the thread of the connection, on which most bodies run anyway.
    private func exchange(
        _ body: (inout PostgresSession, [PostgresRequest]) throws(PostgresFailure) -> [StoredEntry]
    ) async throws(StoreError) -> [StoredEntry] {
        try await withTaskExecutorPreference(connection.thread) { () async throws(StoreError) in
            try exchangeHere(body)
        }
    }

    private func exchangeHere(
        _ body: (inout PostgresSession, [PostgresRequest]) throws(PostgresFailure) -> [StoredEntry]
    ) throws(StoreError) -> [StoredEntry] {
        let first = state.withLock { $0.first }
        let result: Result<[StoredEntry], PostgresFailure> = try connection.use { (session) throws(StoreError) in
            try session.check(turn)
            if let failure = state.withLock({ $0.failure }) { return .failure(failure) }
            do throws(PostgresFailure) { return .success(try body(&session, first)) } catch { return .failure(error) }
        }
        state.withLock { state in
            state.first = []
            if case .failure(let failure) = result { state.failure = failure }
        }
        switch result {
        case .success(let rows): return rows
        case .failure(let failure): throw failure.error
        }
    }
}

/// The state that the earlier writes of a batch leave, before they are sent.
struct BatchedWrites: Snapshot {
    let writes: WriteTransaction

    func get(_ key: Bytes, in partition: Partition) async throws -> Bytes? {
        try await writes.get(key, in: partition)
    }

    func get(_ keys: [Bytes], in partition: Partition) async throws -> [Bytes?] {
        try await writes.get(keys, in: partition)
    }

    func scan(_ range: KeyRange, in partition: Partition, limit: Int, reverse: Bool) async throws -> [Entry] {
        try await writes.scan(range, in: partition, limit: limit, reverse: reverse)
    }
}
