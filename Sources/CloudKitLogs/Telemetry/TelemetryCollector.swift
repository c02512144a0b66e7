/// Counts entries by minute and key until the counts are stored; the number of keys of a minute is bounded.
package struct TelemetryCollector: Sendable {
    private var minutes: [Int64: Minute] = [:]
    /// Combinations of one minute, the most frequent ones first: most requests have one of them, and comparing texts costs less than
    /// hashing them.
    private var recent: [Recent] = []
    private var recentMinute: Int64 = 0

    private struct Recent {
        var key: TelemetryKey
        var position: Int
    }

    /// Positions by key, so that counting an entry looks up its key once.
    private struct Minute {
        var positions: [TelemetryKey: Int] = [:]
        var counts: [TelemetryCounts] = []

        mutating func position(of key: TelemetryKey, _ entry: LogEntry) -> Int {
            if let known = positions[key] { return known }
            let isFull = positions.count >= keysMax
            if isFull, let known = positions[.other(entry)] { return known }
            positions[isFull ? .other(entry) : key] = counts.count
            counts.append(TelemetryCounts())
            return counts.count - 1
        }
    }

    /// The keys of a minute; requests with others are counted together.
    package static let keysMax = 1000
    /// The combinations that are compared before any is looked up.
    private static let recentMax = 4

    /// Creates an empty collector.
    package init() {}

    /// Counts an entry.
    package mutating func add(_ entry: LogEntry) {
        let start = TelemetryResolution.minute.start(of: entry.time)
        let position = position(of: entry, start)
        minutes[start]?.counts[position].add(entry)
    }

    private mutating func position(of entry: LogEntry, _ start: Int64) -> Int {
        if recentMinute != start {
            recentMinute = start
            recent = []
        }
        if let index = recent.firstIndex(where: { $0.key.isKey(of: entry) }) {
            if index > 0 { recent.swapAt(index, index - 1) }
            return recent[max(index - 1, 0)].position
        }
        let key = TelemetryKey(entry)
        let position = minutes[start, default: Minute()].position(of: key, entry)
        if recent.count == Self.recentMax { recent.removeLast() }
        recent.append(Recent(key: key, position: position))
        return position
    }

    /// Takes all counts out.
    package mutating func take() -> [TelemetrySample] {
        defer {
            minutes = [:]
            recent = []
        }
        return minutes.flatMap { start, minute in
            minute.positions.map { TelemetrySample(minute: start, key: $0.key, counts: minute.counts[$0.value]) }
        }
    }
}
