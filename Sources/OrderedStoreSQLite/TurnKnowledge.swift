import OrderedStore

/// What the reads of the turn under way found under keys: nothing else can change it before the turn's writes are applied, so these
/// need not look again, and neither need reads of further keys between two rows that are neighbours.
struct TurnKnowledge {
    /// What the file holds under a key.
    enum Holding: Hashable {
        case nothing
        /// A value in the entry itself.
        case inline
        /// A value apart, under this number.
        case content(Int64)
    }

    /// The keys of a partition between two rows that follow each other, whose keys were found good.
    struct Gap {
        var partition: Int64
        /// nil: from the partition's beginning.
        var lower: Bytes?
        /// nil: to the partition's end.
        var upper: Bytes?

        func holds(_ key: Bytes, in partition: Int64) -> Bool {
            partition == self.partition && lower?.precedes(key) ?? true && upper.map { key.precedes($0) } ?? true
        }
    }

    /// A key whose hash takes all of its bytes at once: a turn asks for each key that it writes.
    private struct HashedKey: Hashable {
        let bytes: Bytes

        func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
    }

    private var holdings: [Int64: [HashedKey: Holding]] = [:]
    private var count = 0
    /// The gap that was found last.
    private var gap: Gap?
    /// Whether the connection writes what it has read.
    private let writes: Bool

    /// Further keys are looked up again: a turn that reads more is long anyway.
    private static let countMax = 8_192

    init(writes: Bool) { self.writes = writes }

    mutating func forget() {
        gap = nil
        if count == 0 { return }
        holdings.removeAll()
        count = 0
    }

    mutating func note(_ holding: Holding, under key: Bytes, in partition: Int64) {
        guard writes, count < Self.countMax else { return }
        holdings[partition, default: [:]][HashedKey(bytes: key)] = holding
        count += 1
    }

    mutating func note(_ gap: Gap) { self.gap = gap }

    /// nil: not known.
    func holding(under key: Bytes, in partition: Int64) -> Holding? {
        count == 0 ? nil : holdings[partition]?[HashedKey(bytes: key)]
    }

    /// Whether the key is surely not there.
    func isAbsent(_ key: Bytes, in partition: Int64) -> Bool { gap?.holds(key, in: partition) ?? false }
}
