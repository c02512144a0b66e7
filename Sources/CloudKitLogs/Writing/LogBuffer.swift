import Synchronization

/// The entries that wait to be written: requests add to it without waiting, and what exceeds its bound is dropped and counted.
package final class LogBuffer: Sendable {
    private let state = Mutex(State())
    private let entriesMax: Int

    private struct State {
        var entries: [LogEntry] = []
        var dropped = 0
        var droppedInAll = 0
    }

    /// Creates a buffer.
    ///
    /// - Parameter entriesMax: Entries that may wait.
    package init(entriesMax: Int = 50_000) { self.entriesMax = entriesMax }

    /// Adds an entry, or drops it where too many wait.
    package func add(_ entry: LogEntry) {
        state.withLock { state in
            guard state.entries.count < entriesMax else {
                state.dropped += 1
                state.droppedInAll += 1
                return
            }
            state.entries.append(entry)
        }
    }

    /// The number of entries that wait.
    package var count: Int { state.withLock { $0.entries.count } }

    /// The number of entries that were dropped since the cloud started.
    package var dropped: Int { state.withLock { $0.droppedInAll } }

    /// Takes all entries out, with the number of those that were dropped since the last time.
    package func take() -> (entries: [LogEntry], dropped: Int) {
        state.withLock { state in
            let taken = (state.entries, state.dropped)
            state.entries = []
            state.dropped = 0
            return taken
        }
    }
}
