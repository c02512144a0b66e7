/// A part of a `SortedMap`: values by key, in key order.
///
/// Two levels: a list of chunks, each a short sorted list. Changing a copy costs one chunk and the list of chunks.
struct SortedRun<Value: Sendable>: Sendable {
    private static var chunkCountMax: Int { 64 }
    /// The chunks of a run that stays whole.
    private static var chunksMax: Int { 256 }

    private struct Chunk: Sendable {
        var keys = SortedKeys()
        var values: [Value] = []
    }

    /// A place before a key, or the end.
    private struct Position {
        var chunk: Int
        var offset: Int
    }

    /// None is empty.
    private var chunks: [Chunk] = []
    /// For each chunk its first key at some time: behind all of the chunk before it. Keys before the first one are in the first chunk.
    private var starts = SortedKeys()
    /// The number of entries.
    private(set) var count = 0
    /// The chunk that was inserted last.
    private var lastInsertion = 0

    /// Creates an empty run.
    init() {}

    /// The first key at some time, behind all of the run before this one; nil where there are no entries.
    var start: Bytes? { starts.isEmpty ? nil : starts[0] }

    /// Whether there are no entries.
    var isEmpty: Bool { count == 0 }

    /// The value under `key`; nil where there is none, and to remove it.
    subscript(key: Bytes) -> Value? {
        get {
            let position = firstPosition(from: key)
            return holds(key, at: position) ? chunks[position.chunk].values[position.offset] : nil
        }
        set {
            if let newValue { insert(newValue, under: key) } else { remove(key) }
        }
    }

    /// The first `limit` entries of `range` in key order, or from its end when `reverse`.
    func entries(
        in range: KeyRange, limit: Int = .max, reverse: Bool = false
    ) -> [(key: Bytes, value: Value)] {
        reverse ? last(of: range, limit: limit) : first(of: range, limit: limit)
    }

    /// Calls `body` with each entry in key order.
    func visit<Failure: Error>(_ body: (Bytes, Value) throws(Failure) -> Void) throws(Failure) {
        for chunk in chunks {
            for offset in chunk.keys.indices { try body(chunk.keys[offset], chunk.values[offset]) }
        }
    }

    /// Returns whether there is a key in `range`.
    func holdsKey(in range: KeyRange) -> Bool {
        let position = firstPosition(from: range.lower)
        return position.chunk < chunks.count
            && chunks[position.chunk].keys.key(at: position.offset, precedes: range.upper)
    }

    /// Removes the upper half of a run that has become long, and returns it; nil for a short one.
    mutating func takeUpperHalf() -> SortedRun? {
        guard chunks.count > Self.chunksMax else { return nil }
        // Keys that arrive in order leave long runs behind them.
        let middle = lastInsertion == chunks.count - 1 ? chunks.count - 1 : chunks.count / 2
        var upper = SortedRun()
        upper.chunks = Array(chunks[middle...])
        upper.starts = starts.takeSuffix(from: middle)
        upper.count = upper.chunks.reduce(0) { $0 + $1.keys.count }
        chunks.removeSubrange(middle...)
        count -= upper.count
        return upper
    }

    /// Removes all entries whose keys are in a range.
    mutating func removeAll(in range: KeyRange) {
        if isEmpty || range.isEmpty { return }
        let start = firstPosition(from: range.lower)
        let end = firstPosition(from: range.upper)
        if start.chunk == end.chunk {
            if start.offset < end.offset { removeOffsets(start.offset..<end.offset, inChunk: start.chunk) }
            return
        }
        // From the back, so that indices stay good.
        if end.offset > 0 { removeOffsets(0..<end.offset, inChunk: end.chunk) }
        let firstWhole = start.offset == 0 ? start.chunk : start.chunk + 1
        for chunk in chunks[firstWhole..<end.chunk] { count -= chunk.keys.count }
        chunks.removeSubrange(firstWhole..<end.chunk)
        starts.removeSubrange(firstWhole..<end.chunk)
        if firstWhole > start.chunk {
            removeOffsets(start.offset..<chunks[start.chunk].keys.count, inChunk: start.chunk)
        }
    }
}

extension SortedRun {
    private mutating func insert(_ value: Value, under key: Bytes) {
        if chunks.isEmpty {
            chunks.append(Chunk())
            starts.insert(key, at: 0)
        }
        let index = chunk(for: key)
        let offset = chunks[index].keys.firstIndex(notBefore: key)
        if offset < chunks[index].keys.count, chunks[index].keys.key(at: offset, equals: key) {
            chunks[index].values[offset] = value
            return
        }
        chunks[index].keys.insert(key, at: offset)
        chunks[index].values.insert(value, at: offset)
        count += 1
        if chunks[index].keys.count > Self.chunkCountMax { split(index, insertedAt: offset) }
    }

    private mutating func split(_ index: Int, insertedAt offset: Int) {
        // Keys that arrive in order leave full chunks behind them.
        let middle = offset == Self.chunkCountMax ? Self.chunkCountMax : Self.chunkCountMax / 2
        let upper = Chunk(
            keys: chunks[index].keys.takeSuffix(from: middle), values: Array(chunks[index].values[middle...]))
        chunks[index].values.removeSubrange(middle...)
        // Keys before the first start are in the first chunk.
        if index == 0 { starts.replaceFirst(by: chunks[0].keys[0]) }
        starts.insert(upper.keys[0], at: index + 1)
        chunks.insert(upper, at: index + 1)
        lastInsertion = index + 1
    }

    private mutating func remove(_ key: Bytes) {
        let position = firstPosition(from: key)
        if holds(key, at: position) {
            removeOffsets(position.offset..<(position.offset + 1), inChunk: position.chunk)
        }
    }

    private mutating func removeOffsets(_ offsets: Range<Int>, inChunk index: Int) {
        count -= offsets.count
        if offsets.count == chunks[index].keys.count {
            chunks.remove(at: index)
            starts.remove(at: index)
            return
        }
        chunks[index].keys.removeSubrange(offsets)
        chunks[index].values.removeSubrange(offsets)
    }

    private func first(of range: KeyRange, limit: Int) -> [(key: Bytes, value: Value)] {
        var found: [(key: Bytes, value: Value)] = []
        var position = firstPosition(from: range.lower)
        while position.chunk < chunks.count {
            let chunk = chunks[position.chunk]
            for offset in position.offset..<chunk.keys.count {
                if found.count >= limit || !chunk.keys.key(at: offset, precedes: range.upper) { return found }
                found.append((chunk.keys[offset], chunk.values[offset]))
            }
            position = Position(chunk: position.chunk + 1, offset: 0)
        }
        return found
    }

    private func last(of range: KeyRange, limit: Int) -> [(key: Bytes, value: Value)] {
        var found: [(key: Bytes, value: Value)] = []
        var end = firstPosition(from: range.upper)
        while true {
            if end.chunk < chunks.count {
                let chunk = chunks[end.chunk]
                for offset in stride(from: end.offset - 1, through: 0, by: -1) {
                    if found.count >= limit || chunk.keys.key(at: offset, precedes: range.lower) { return found }
                    found.append((chunk.keys[offset], chunk.values[offset]))
                }
            }
            if end.chunk == 0 { return found }
            end = Position(chunk: end.chunk - 1, offset: chunks[end.chunk - 1].keys.count)
        }
    }

    private func holds(_ key: Bytes, at position: Position) -> Bool {
        position.chunk < chunks.count && chunks[position.chunk].keys.key(at: position.offset, equals: key)
    }

    /// Before the first key that is not before `key`; beyond the last chunk when there is none.
    private func firstPosition(from key: Bytes) -> Position {
        if chunks.isEmpty { return Position(chunk: 0, offset: 0) }
        let index = chunk(for: key)
        let offset = chunks[index].keys.firstIndex(notBefore: key)
        return offset < chunks[index].keys.count
            ? Position(chunk: index, offset: offset) : Position(chunk: index + 1, offset: 0)
    }

    /// The last chunk that begins at or before `key`, or the first of all.
    private func chunk(for key: Bytes) -> Int {
        // Most changes of one transaction fit into one chunk.
        chunks.count == 1 ? 0 : max(starts.count(notBehind: key) - 1, 0)
    }
}
