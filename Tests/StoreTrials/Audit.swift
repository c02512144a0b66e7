import OrderedStore

/// The content of a store, compared with the outcomes of its writes.
struct Audit {
    private enum Presence {
        case all, none, part
    }

    let lines: [Ledger.Line]
    private(set) var problems: [String] = []
    private var found: [Partition: [Bytes: Bytes]] = [:]
    /// The writes that remove another's entries, by its number.
    private let clearers: [Int: [Ledger.Line]]

    /// Reads the whole store. Of writes without an outcome all or nothing may be there.
    init(_ store: some OrderedStore, _ lines: [Ledger.Line]) async throws {
        self.lines = lines
        clearers = Dictionary(grouping: lines.filter { $0.write.clears != nil }) { $0.write.clears ?? 0 }
        let everything = KeyRange(lower: [], upper: Bytes(repeating: 0xFF, count: 64))
        for partition in PlannedWrite.partitions {
            let entries = try await store.read(partition) { try await $0.scan(everything, limit: .max) }
            found[partition] = Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0.value) })
        }
        var presences: [Int: Presence] = [:]
        var foundCount = 0
        for line in lines {
            let (presence, count) = presence(of: line.write)
            presences[line.write.id] = presence
            foundCount += count
        }
        for line in lines { check(line, presences) }
        if checkLatest(presences) { foundCount += 1 }
        let count = found.values.reduce(0) { $0 + $1.count }
        if count != foundCount { problems.append("\(count - foundCount) entries are of no write") }
    }

    private mutating func presence(of write: PlannedWrite) -> (Presence, Int) {
        var count = 0
        for entry in write.entries {
            guard let value = found[entry.partition]?[entry.key] else { continue }
            count += 1
            if value != entry.value { problems.append("a value of write \(write.id) is not what was written") }
        }
        return (count == 0 ? .none : count == write.entries.count ? .all : .part, count)
    }

    private mutating func check(_ line: Ledger.Line, _ presences: [Int: Presence]) {
        let id = line.write.id
        let isCleared = clearers[id, default: []].contains { line in
            presences[line.write.id] == .all || line.outcome == .acknowledged
        }
        switch (presences[id] ?? .none, line.outcome) {
        case (.part, _): problems.append("half of write \(id) is there")
        case (.none, .acknowledged) where !isCleared: problems.append("write \(id) was acknowledged and is lost")
        case (.all, _) where isCleared: problems.append("the entries of write \(id) are there after their removal")
        case (.all, .failed): problems.append("write \(id) failed and is visible")
        default: break
        }
    }

    /// - Returns: Whether there is an entry of the last write.
    private mutating func checkLatest(_ presences: [Int: Presence]) -> Bool {
        let acknowledged = lines.last { $0.write.isInOrder && $0.outcome == .acknowledged }?.write.id ?? 0
        guard let value = found[PlannedWrite.home]?[PlannedWrite.latestKey] else {
            if acknowledged > 0 { problems.append("there is no last write, expected \(acknowledged)") }
            return false
        }
        let latest = PlannedWrite.latestID(value) ?? -1
        if value != PlannedWrite(id: latest).latest { problems.append("the entry of the last write is damaged") }
        let isThere = lines.contains {
            $0.write.id == latest && (presences[latest] == .all || $0.outcome == .acknowledged)
        }
        if latest < acknowledged || (latest > acknowledged && !isThere) {
            problems.append("the last write is \(latest), expected \(acknowledged)")
        }
        return true
    }
}
