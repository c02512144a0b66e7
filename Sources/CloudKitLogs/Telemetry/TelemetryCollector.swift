/// Counts entries by minute and key until the counts are stored; the number of keys of a minute is bounded.
package struct TelemetryCollector: Sendable {
    /// The minute of the last entry.
    private var minute = Minute(start: 0)
    /// The other minutes: entries come in the order in which requests end.
    private var others: [Minute] = []

    /// The counts of one minute.
    private struct Minute {
        let start: Int64
        /// In the order of `counts`.
        private(set) var keys: [TelemetryKey] = []
        private(set) var counts: [TelemetryCounts] = []
        private var positions: [TelemetryKey: Int] = [:]
        /// Positions of a few keys, the most frequent ones first: most entries have one of them, and comparing texts costs less than
        /// hashing them.
        private var recent: [Int] = []

        init(start: Int64) { self.start = start }

        mutating func add(_ entry: LogEntry) { counts[position(of: entry)].add(entry) }

        private mutating func position(of entry: LogEntry) -> Int {
            let known = keys.withUnsafeBufferPointer { keys in recent.firstIndex { keys[$0].isKey(of: entry) } }
            if let known {
                let position = recent[known]
                if known > 0 { recent.swapAt(known, known - 1) }
                return position
            }
            let position = position(of: TelemetryKey(entry), entry)
            if recent.count == TelemetryCollector.recentMax { recent.removeLast() }
            recent.append(position)
            return position
        }

        private mutating func position(of key: TelemetryKey, _ entry: LogEntry) -> Int {
            if let known = positions[key] { return known }
            let isFull = keys.count >= keysMax
            if isFull, let known = positions[.other(entry)] { return known }
            let counted = isFull ? TelemetryKey.other(entry) : key
            positions[counted] = keys.count
            keys.append(counted)
            counts.append(TelemetryCounts())
            return keys.count - 1
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
        if minute.start != start { goOn(with: start) }
        minute.add(entry)
    }

    private mutating func goOn(with start: Int64) {
        if !minute.keys.isEmpty { others.append(minute) }
        if let index = others.firstIndex(where: { $0.start == start }) {
            minute = others.remove(at: index)
        } else {
            minute = Minute(start: start)
        }
    }

    /// Takes all counts out.
    package mutating func take() -> [TelemetrySample] {
        defer { self = TelemetryCollector() }
        return (others + [minute]).flatMap { minute in
            zip(minute.keys, minute.counts).map { TelemetrySample(minute: minute.start, key: $0, counts: $1) }
        }
    }
}
