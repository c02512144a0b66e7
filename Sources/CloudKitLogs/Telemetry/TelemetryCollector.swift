/// Counts entries by minute and key until the counts are stored; the number of keys of a minute is bounded.
package struct TelemetryCollector: Sendable {
    private var minutes: [Int64: Minute] = [:]

    /// Positions by key, so that counting an entry looks up its key once.
    private struct Minute {
        var positions: [TelemetryKey: Int] = [:]
        var counts: [TelemetryCounts] = []

        mutating func position(of entry: LogEntry) -> Int {
            let key = TelemetryKey(entry)
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

    /// Creates an empty collector.
    package init() {}

    /// Counts an entry.
    package mutating func add(_ entry: LogEntry) {
        let start = TelemetryResolution.minute.start(of: entry.time)
        let position = minutes[start, default: Minute()].position(of: entry)
        minutes[start]?.counts[position].add(entry)
    }

    /// Takes all counts out.
    package mutating func take() -> [TelemetrySample] {
        defer { minutes = [:] }
        return minutes.flatMap { start, minute in
            minute.positions.map { TelemetrySample(minute: start, key: $0.key, counts: minute.counts[$0.value]) }
        }
    }
}
