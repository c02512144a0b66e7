/// Keeps the entries of the log and the telemetry made of them, in bounded space.
///
/// Entries have numbers in the order in which they were added, which is about that of their ends.
package protocol LogStore: Sendable {
    /// Adds entries in their order, and telemetry to the intervals that it belongs to.
    func append(_ entries: [LogEntry], telemetry: [TelemetrySample]) async throws(LogStoreError)

    /// Returns the newest entries that meet a filter, the newest first.
    ///
    /// - Parameters:
    ///   - number: Only entries with lower numbers; nil from the newest one on.
    ///   - limit: 1 to 1,000 entries.
    func entries(_ filter: LogFilter, before number: Int64?, limit: Int) async throws(LogStoreError) -> LogPage

    /// Returns the oldest entries with higher numbers that meet a filter, the oldest first: what to show next while following.
    func entries(_ filter: LogFilter, after number: Int64, limit: Int) async throws(LogStoreError) -> LogPage

    /// Returns the entry of a request; nil if there is none, or no longer.
    func entry(_ id: LogID) async throws(LogStoreError) -> LogEntry?

    /// Returns the telemetry of a time span, by interval and key.
    func telemetry(_ query: TelemetryQuery) async throws(LogStoreError) -> [TelemetryPoint]

    /// Returns measurements of a name, such as the free space of the disk, in the order of their times.
    ///
    /// - Parameter place: The container and environment; nil for the whole cloud.
    func measurements(
        _ name: MeasurementName, of place: MeasuredPlace?, from: Int64, to: Int64, resolution: TelemetryResolution
    ) async throws(LogStoreError) -> [Measurement]

    /// Adds measurements.
    func add(_ measurements: [Measurement]) async throws(LogStoreError)

    /// Removes a bounded number of entries that are beyond the bounds.
    ///
    /// - Returns: A Boolean value that indicates whether more are left.
    func prune(_ retention: LogRetention, now: Int64) async throws(LogStoreError) -> Bool

    /// Returns the size of the store.
    func size() async throws(LogStoreError) -> LogSize
}

/// Entries with their numbers, and where the next page begins.
///
/// A search of a long log may end before the limit of entries is reached: what it found until then is a page like any other.
package struct LogPage: Hashable, Sendable {
    /// An entry and its number.
    package struct Item: Hashable, Sendable {
        /// The number of the entry.
        package var number: Int64
        /// The entry.
        package var entry: LogEntry

        /// Creates an item.
        package init(number: Int64, entry: LogEntry) {
            self.number = number
            self.entry = entry
        }
    }

    /// The entries.
    package var items: [Item]
    /// The number to continue from; nil after the last page of entries that lie in the past.
    package var next: Int64?
    /// Milliseconds since 1970 of the last entry that was looked at, if the search ended because it had taken its time.
    package var searchedTo: Int64?

    /// Creates a page.
    package init(items: [Item], next: Int64?, searchedTo: Int64? = nil) {
        self.items = items
        self.next = next
        self.searchedTo = searchedTo
    }
}

/// The bounds of the log.
package struct LogRetention: Hashable, Sendable {
    /// Days for which entries are kept.
    package var days: Int
    /// Entries that are kept at most, apart from those of the last few thousand.
    package var rowsMax: Int
    /// Bytes of the store.
    package var bytesMax: Int

    /// Creates bounds; by default 30 days, ten million entries, 4 GiB.
    package init(days: Int = 30, rowsMax: Int = 10_000_000, bytesMax: Int = 4 << 30) {
        self.days = days
        self.rowsMax = rowsMax
        self.bytesMax = bytesMax
    }
}

/// The size of the log.
package struct LogSize: Hashable, Sendable {
    /// The number of entries.
    package var rows: Int
    /// Bytes in use, without space that is free for new entries.
    package var bytes: Int

    /// Creates a size.
    package init(rows: Int, bytes: Int) {
        self.rows = rows
        self.bytes = bytes
    }
}

/// The error of a log that cannot be read or written.
package struct LogStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A code exists only if someone would act on it differently.
    package enum Code: Hashable, Sendable {
        /// The file is no log of this version, or damaged: it is set aside.
        case damaged
        /// There is no file yet.
        case missing
        /// Another process writes; trying again helps.
        case busy
        /// The file cannot be read or written.
        case unavailable
    }

    /// The code to act on.
    package var code: Code
    /// The sentence for the operator.
    package var reason: String

    /// Creates an error.
    package init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    /// The sentence for the operator.
    package var description: String { reason }
}
