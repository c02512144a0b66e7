import OrderedStore

/// One write of a workload, whose effect can be recognised in a store afterwards.
///
/// It adds entries of its own, of every size that the engine stores differently, in two partitions; it may remove those of an earlier
/// write; and writes that are made one after another replace one entry, so that their order can be seen.
struct PlannedWrite: Hashable, Sendable {
    let id: Int
    /// The write whose entries this one removes.
    var clears: Int?
    /// Whether it begins after the one before has ended.
    var isInOrder = true

    static let home = Partition("home")
    static let partitions = [home] + (0..<3).map { Partition("part \($0)") }
    /// The entry that holds the last write of those made in order.
    static let latestKey = Bytes("latest".utf8)

    private var side: Partition { Self.partitions[1 + id % 3] }

    /// The entries that it adds.
    var entries: [(partition: Partition, key: Bytes, value: Bytes)] {
        var entries = (0..<4).map { (Self.home, key($0), value($0)) }
        entries.append((side, key(0), value(1)))
        return entries
    }

    /// The value of the entry of the last write, of changing size.
    var latest: Bytes {
        let text = Bytes("\(id) ".utf8)
        return text + Bytes(repeating: 0x2E, count: id.isMultiple(of: 2) ? 20 : 500)
    }

    /// The number of the write that left a value in the entry of the last write.
    static func latestID(_ value: Bytes) -> Int? {
        Int(String(decoding: value.prefix { $0 != 0x20 }, as: UTF8.self))
    }

    /// Makes the write, reading first what the one before it wrote.
    func run(in store: some OrderedStore) async throws {
        let cleared = clears.map { PlannedWrite(id: $0) }
        let partitions = [Self.home, side] + (cleared.map { $0.side == side ? [] : [$0.side] } ?? [])
        try await store.write(partitions) { transaction in
            _ = try await transaction.get(PlannedWrite(id: id - 1).key(3))
            _ = try await transaction.scan(PlannedWrite(id: id - 2).range, limit: 10)
            if let cleared {
                transaction.clear(cleared.range)
                try transaction.clear(cleared.range, in: cleared.side)
            }
            for entry in entries { try transaction.set(entry.key, entry.value, in: entry.partition) }
            if isInOrder { transaction.set(Self.latestKey, latest) }
        }
    }

    private func key(_ number: Int) -> Bytes {
        let digits = String(id + 1_000_000)
        return Bytes("write/\(digits)/\(number)".utf8)
    }

    private var range: KeyRange { KeyRange(lower: key(0), upper: key(4)) }

    private func value(_ number: Int) -> Bytes {
        let counts = [12, 150, 240, id.isMultiple(of: 4) ? 20_000 : 2600]
        return Bytes("\(id)".utf8) + Bytes(repeating: UInt8(truncatingIfNeeded: id + number * 7), count: counts[number])
    }
}
