import Synchronization

/// A log in memory, for tests.
package final class MemoryLogStore: LogStore {
    private let state = Mutex(State())

    private struct State {
        var items: [LogPage.Item] = []
        var next: Int64 = 1
        var points: [TelemetryResolution: [Int64: [TelemetryKey: TelemetryCounts]]] = [:]
        var measurements: [Measurement] = []
    }

    /// Creates an empty log.
    package init() {}

    /// All entries, the oldest first.
    package var all: [LogEntry] { state.withLock { $0.items.map(\.entry) } }

    /// Adds entries and telemetry.
    package func append(_ entries: [LogEntry], telemetry: [TelemetrySample]) {
        state.withLock { state in
            for entry in entries {
                state.items.append(LogPage.Item(number: state.next, entry: entry))
                state.next += 1
            }
            for sample in telemetry {
                for resolution in TelemetryResolution.allCases {
                    state.points[resolution, default: [:]][resolution.start(of: sample.minute), default: [:]][
                        sample.key, default: TelemetryCounts()
                    ].add(sample.counts)
                }
            }
        }
    }

    /// Returns the newest entries that meet a filter.
    package func entries(_ filter: LogFilter, before number: Int64?, limit: Int) -> LogPage {
        state.withLock { state in
            let older = state.items.reversed().lazy.filter { $0.number < number ?? .max && filter.matches($0.entry) }
            let items = Array(older.prefix(limit))
            return LogPage(items: items, next: items.count == limit ? items.last?.number : nil)
        }
    }

    /// Returns the oldest entries with higher numbers that meet a filter.
    package func entries(_ filter: LogFilter, after number: Int64, limit: Int) -> LogPage {
        state.withLock { state in
            let newer = state.items.lazy.filter { $0.number > number && filter.matches($0.entry) }
            let items = Array(newer.prefix(limit))
            return LogPage(items: items, next: items.count == limit ? items.last?.number : state.next - 1)
        }
    }

    /// Returns the entry of a request.
    package func entry(_ id: LogID) -> LogEntry? {
        state.withLock { $0.items.last { $0.entry.id == id }?.entry }
    }

    /// Returns the telemetry of a time span.
    package func telemetry(_ query: TelemetryQuery) -> [TelemetryPoint] {
        state.withLock { state in
            (state.points[query.resolution] ?? [:]).filter { $0.key >= query.from && $0.key < query.to }
                .sorted { $0.key < $1.key }
                .flatMap { start, keys in
                    keys.filter { query.matches($0.key) }
                        .map { TelemetryPoint(start: start, key: $0.key, counts: $0.value) }
                }
        }
    }

    /// Returns measurements of a name.
    package func measurements(
        _ name: MeasurementName, of place: MeasuredPlace? = nil, from: Int64, to: Int64, resolution: TelemetryResolution
    ) -> [Measurement] {
        state.withLock { state in
            state.measurements.filter { $0.name == name && $0.place == place && $0.time >= from && $0.time < to }
        }
    }

    /// Adds measurements.
    package func add(_ measurements: [Measurement]) {
        state.withLock { $0.measurements += measurements }
    }

    /// Removes all entries that are beyond the bounds.
    package func prune(_ retention: LogRetention, now: Int64) -> Bool {
        let oldest = now - Int64(retention.days) * 86_400_000
        state.withLock { state in
            let surplus = max(0, state.items.count - retention.rowsMax)
            state.items = state.items.dropFirst(surplus).filter { $0.entry.time >= oldest }
        }
        return false
    }

    /// Returns the number of entries.
    package func size() -> LogSize { LogSize(rows: state.withLock { $0.items.count }, bytes: 0) }
}
