/// Counts entries by minute and key until the counts are stored; the number of keys of a minute is bounded.
package struct TelemetryCollector: Sendable {
    private var minutes: [Int64: [TelemetryKey: TelemetryCounts]] = [:]

    /// The keys of a minute; requests with others are counted together.
    package static let keysMax = 1000

    /// Creates an empty collector.
    package init() {}

    /// Counts an entry.
    package mutating func add(_ entry: LogEntry) {
        let minute = TelemetryResolution.minute.start(of: entry.time)
        let key = TelemetryKey(entry)
        if minutes[minute]?[key] == nil, minutes[minute, default: [:]].count >= Self.keysMax {
            minutes[minute]?[.other(entry), default: TelemetryCounts()].add(entry)
        } else {
            minutes[minute, default: [:]][key, default: TelemetryCounts()].add(entry)
        }
    }

    /// Takes all counts out.
    package mutating func take() -> [TelemetrySample] {
        defer { minutes = [:] }
        return minutes.flatMap { minute, keys in
            keys.map { TelemetrySample(minute: minute, key: $0.key, counts: $0.value) }
        }
    }
}
