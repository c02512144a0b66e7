import Synchronization

/// The reports that wait to be written: requests add to it without waiting, and what exceeds its bound is dropped and counted.
package final class LogBuffer: Sendable {
    private let state = Mutex(State())
    private let reportsMax: Int

    private struct State {
        var reports: [any LogReport] = []
        var dropped = 0
        var droppedInAll = 0
    }

    /// The reports that waited.
    package struct Content: Sendable {
        /// The reports, the oldest first.
        package var reports: [any LogReport]
        /// The number of reports that were dropped since the last time.
        package var dropped: Int

        /// The entries of the reports that have one.
        package var entries: [LogEntry] { reports.compactMap { $0.makeEntry() } }
    }

    /// Creates a buffer.
    ///
    /// - Parameter entriesMax: Reports that may wait.
    package init(entriesMax: Int = 50_000) { reportsMax = entriesMax }

    /// Adds a report, or drops it where too many wait.
    package func add(_ report: some LogReport) {
        state.withLock { state in
            guard state.reports.count < reportsMax else {
                state.dropped += 1
                state.droppedInAll += 1
                return
            }
            state.reports.append(report)
        }
    }

    /// The number of reports that wait.
    package var count: Int { state.withLock { $0.reports.count } }

    /// The number of reports that were dropped since the cloud started.
    package var dropped: Int { state.withLock { $0.droppedInAll } }

    /// Takes all reports out.
    package func take() -> Content {
        state.withLock { state in
            let content = Content(reports: state.reports, dropped: state.dropped)
            state.reports = []
            state.dropped = 0
            return content
        }
    }
}
