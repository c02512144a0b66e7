/// Copies the content of one store into another, of any engine.
///
/// It compares the two as it reads them and writes only what differs, so a copy that was interrupted goes on where it stopped, and a
/// second one takes over what changed since the first. The source may be in use; only the last copy needs it at rest.
package struct StoreCopy: Sendable {
    /// What a copy did.
    package struct Summary: Hashable, Sendable {
        /// The partitions of the source.
        package var partitionCount = 0
        /// The entries of the source.
        package var entryCount = 0
        /// The entries that were written to the target, or removed from it.
        package var changeCount = 0
        /// A digest of all names, keys and values of the source, in order.
        package var digest: UInt64 = 0
    }

    private let source: any PersistentStore
    private let target: any PersistentStore
    /// The beginning of the names of partitions that are not copied; nil: all are.
    private let omittedPrefix: String?

    /// The partition of the target that says which store it is a copy of, until the copy is complete.
    private static let partition = Partition("store copy")
    private static let sourceKey: Bytes = [0x60]
    private static let pageEntries = 500
    private static let pageBytesMax = 8 << 20
    private static let pageLargeEntries = 16

    /// Creates a copy from one store to another.
    ///
    /// - Parameters:
    ///   - source: The store to copy.
    ///   - target: The store to fill.
    ///   - omittedPrefix: The beginning of the names of partitions that are not copied; nil: all are.
    package init(
        from source: any PersistentStore, to target: any PersistentStore, without omittedPrefix: String? = nil
    ) {
        self.source = source
        self.target = target
        self.omittedPrefix = omittedPrefix
    }

    /// Copies what differs.
    ///
    /// - Parameter progress: Called after each partition with what was done so far.
    /// - Throws: `notAStore` for a target that holds something else.
    package func run(progress: (Summary) -> Void = { _ in }) async throws -> Summary {
        try await claim()
        var summary = Summary()
        for name in try await source.partitionNames() {
            let partition = Partition(name)
            if partition == Self.partition || omittedPrefix.map({ name.hasPrefix($0) }) ?? false { continue }
            try await copy(partition, &summary)
            progress(summary)
        }
        return summary
    }

    /// Reads the target and compares it with a copy of the source at rest, then gives it the source's epoch: devices go on with it
    /// as if it were the source.
    ///
    /// - Returns: false: the target is not what was copied.
    package func finish(_ copied: Summary) async throws -> Bool {
        let found = try await Self.digest(of: target)
        guard found.digest == copied.digest, found.entryCount == copied.entryCount else { return false }
        try await target.setEpoch(source.epoch)
        try await target.write(Self.partition) { $0.clear(Self.sourceKey) }
        return true
    }

    /// Returns the number of entries of a store and their digest.
    package static func digest(of store: any PersistentStore) async throws -> Summary {
        var summary = Summary()
        for name in try await store.partitionNames() where Partition(name) != partition {
            var next: Bytes? = []
            while let lower = next {
                let page = try await entries(of: Partition(name), from: lower, in: store)
                if lower.isEmpty, !page.entries.isEmpty { begin(Partition(name), in: &summary) }
                add(page.entries, to: &summary)
                next = page.next
            }
        }
        return summary
    }

    /// Notes which store the target becomes a copy of.
    private func claim() async throws {
        let id = (0..<8).map { UInt8(truncatingIfNeeded: source.storeID >> (56 - 8 * $0)) }
        let isEmpty = try await target.isEmpty()
        let isOurs = try await target.write(Self.partition) { transaction in
            if isEmpty { transaction.set(Self.sourceKey, id) }
            return try await transaction.get(Self.sourceKey) == id
        }
        guard isOurs else {
            throw StoreError(
                code: .notAStore, reason: "the target of the copy holds a store already",
                remedy: "name an empty database, another schema with ?schema=NAME, or a new folder")
        }
    }

    private func copy(_ partition: Partition, _ summary: inout Summary) async throws {
        var next: Bytes? = []
        while let lower = next {
            let page = try await Self.entries(of: partition, from: lower, in: source)
            if lower.isEmpty, !page.entries.isEmpty { Self.begin(partition, in: &summary) }
            Self.add(page.entries, to: &summary)
            let range = KeyRange(lower: lower, upper: page.next ?? Self.end)
            summary.changeCount += try await target.write(partition) { transaction in
                var held: [Bytes: Bytes] = [:]
                for entry in try await transaction.scan(range, limit: .max) { held[entry.key] = entry.value }
                var changes = 0
                for entry in page.entries where held.removeValue(forKey: entry.key) != entry.value {
                    transaction.set(entry.key, entry.value)
                    changes += 1
                }
                for key in held.keys { transaction.clear(key) }
                return changes + held.count
            }
            next = page.next
        }
    }

    /// Beyond every key of the record layer.
    private static let end = Bytes(repeating: 0xFF, count: 64)

    /// Returns entries from a key on, and the key at which the next ones begin; nil: there are none.
    private static func entries(
        of partition: Partition, from lower: Bytes, in store: any PersistentStore
    ) async throws -> (entries: [Entry], next: Bytes?) {
        let range = KeyRange(lower: lower, upper: end)
        let count = partition.hasLargeValues ? pageLargeEntries : pageEntries
        var entries = try await store.read(partition) { try await $0.scan(range, limit: count) }
        var bytes = 0
        // A page of large values is cut, so that a transaction of the target stays small.
        let kept = entries.prefix { entry in
            defer { bytes += entry.value.count }
            return bytes < pageBytesMax
        }.count
        let isLast = kept == entries.count && entries.count < count
        entries.removeSubrange(kept...)
        return (entries, isLast ? nil : entries.last.map { $0.key + [0] })
    }

    /// Partitions without entries count on neither side.
    private static func begin(_ partition: Partition, in summary: inout Summary) {
        summary.partitionCount += 1
        summary.digest = XXHash64.hash(Bytes(partition.name.utf8), seed: summary.digest)
    }

    private static func add(_ entries: [Entry], to summary: inout Summary) {
        summary.entryCount += entries.count
        for entry in entries {
            summary.digest = XXHash64.hash(entry.value, seed: XXHash64.hash(entry.key, seed: summary.digest))
        }
    }
}
