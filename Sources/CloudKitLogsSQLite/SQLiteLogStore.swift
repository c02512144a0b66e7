import CSQLite
import CloudKitLogs
import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The log in a file of its own. A damaged file, or one of another version, is set aside and never keeps the cloud from running.
package final class SQLiteLogStore: LogStore {
    private let path: String
    private let searchTime: Duration
    private let writer: Mutex<LogFileWriter?>
    private let reader = Mutex(Reader())
    /// Counts the files that were begun, so that readers leave one that was set aside.
    private let generation = Atomic<Int>(0)
    private let writing = DispatchQueue(label: "welkin.log.writing")
    private let reading = DispatchQueue(label: "welkin.log.reading")

    private struct Reader {
        var generation = -1
        var file: LogFileReader?
    }

    /// A reason why an earlier file was set aside when the store was opened; nil when it was not.
    package let setAside: String?
    /// Whether this process may set a damaged file aside.
    private let ownsFile: Bool

    /// The time after which a search of the log ends with what it has found, so that a page is there within 200 ms even if the
    /// disk has to be read.
    package static let searchTime = Duration.milliseconds(120)

    /// Opens the log for writing, and creates it where there is none.
    ///
    /// - Parameter searchTime: The time after which a search ends with what it has found (``LogPage/searchedTo``).
    /// - Throws: `unavailable`.
    package init(path: String, searchTime: Duration = SQLiteLogStore.searchTime) throws(LogStoreError) {
        self.path = path
        self.searchTime = searchTime
        ownsFile = true
        var reason: String?
        var file: LogFileWriter
        do throws(LogStoreError) {
            file = try LogFileWriter(path: path)
        } catch {
            guard error.code == .damaged else { throw error }
            reason = error.reason
            try Self.moveAway(path)
            file = try LogFileWriter(path: path)
        }
        writer = Mutex(file)
        setAside = reason
    }

    /// Opens a log for entries of a process that is not the cloud, which may run and write as well; creates it where there is none.
    ///
    /// - Throws: `damaged` for a file that is no log: setting it aside is for the cloud. `busy`, `unavailable`.
    package init(appendingTo path: String) throws(LogStoreError) {
        self.path = path
        searchTime = Self.searchTime
        ownsFile = false
        writer = Mutex(try LogFileWriter(path: path, checkpoints: false))
        setAside = nil
    }

    /// Opens a log that another process writes, or that none does.
    ///
    /// - Throws: `missing`, `damaged`, `unavailable`.
    package init(reading path: String) throws(LogStoreError) {
        self.path = path
        searchTime = Self.searchTime
        ownsFile = false
        writer = Mutex(nil)
        setAside = nil
        _ = try LogFileReader(path: path)
    }

    /// Moves a file that cannot be used to `…set-aside`, in the place of an earlier one.
    private static func moveAway(_ path: String) throws(LogStoreError) {
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        guard rename(path, path + ".set-aside") == 0 else {
            throw LogStoreError(.unavailable, "the log \(path) is damaged and cannot be moved away")
        }
    }

    // MARK: Writing

    /// Adds entries in their order, and telemetry to the intervals that it belongs to.
    package func append(_ entries: [LogEntry], telemetry: [TelemetrySample]) async throws(LogStoreError) {
        try await write { (file) throws(LogStoreError) in try file.append(entries, telemetry: telemetry) }
    }

    /// Adds measurements.
    package func add(_ measurements: [Measurement]) async throws(LogStoreError) {
        try await write { (file) throws(LogStoreError) in try file.add(measurements) }
    }

    /// Removes the oldest block that is beyond the bounds.
    package func prune(_ retention: LogRetention, now: Int64) async throws(LogStoreError) -> Bool {
        try await write { (file) throws(LogStoreError) in try file.prune(retention, now: now) }
    }

    /// Gives back memory that makes writing and reading faster; what is needed is read again.
    package func releaseMemory() async {
        try? await Self.run(on: writing) { [self] () throws(LogStoreError) in
            writer.withLock { $0?.releaseMemory() }
        }
        try? await Self.run(on: reading) { [self] () throws(LogStoreError) in
            reader.withLock { $0.file = nil }
        }
    }

    private func write<Value: Sendable>(
        _ body: @escaping @Sendable (inout LogFileWriter) throws(LogStoreError) -> Value
    ) async throws(LogStoreError) -> Value {
        try await Self.run(on: writing) { [self] () throws(LogStoreError) in
            try writer.withLock { (file) throws(LogStoreError) in
                guard file != nil else { throw LogStoreError(.unavailable, "the log is open for reading only") }
                do throws(LogStoreError) {
                    // Checked above.
                    return try body(&file!)
                } catch {
                    if error.code == .damaged, ownsFile {
                        try Self.moveAway(path)
                        file = try LogFileWriter(path: path)
                        generation.add(1, ordering: .relaxed)
                    }
                    throw error
                }
            }
        }
    }

    // MARK: Reading

    /// Returns the newest entries that meet a filter, the newest first.
    package func entries(
        _ filter: LogFilter, before number: Int64?, limit: Int
    ) async throws(LogStoreError) -> LogPage {
        try await search(filter, from: number, isAscending: false, limit: limit)
    }

    /// Returns the oldest entries with higher numbers that meet a filter, the oldest first.
    package func entries(_ filter: LogFilter, after number: Int64, limit: Int) async throws(LogStoreError) -> LogPage {
        try await search(filter, from: number, isAscending: true, limit: limit)
    }

    private func search(
        _ filter: LogFilter, from number: Int64?, isAscending: Bool, limit: Int
    ) async throws(LogStoreError) -> LogPage {
        try await read { [searchTime] (file) throws(LogStoreError) in
            let end = ContinuousClock.now + searchTime
            return try file.entries(filter, from: number, isAscending: isAscending, limit: limit) {
                ContinuousClock.now >= end
            }
        }
    }

    /// Returns the entry of a request; nil if there is none, or no longer.
    package func entry(_ id: LogID) async throws(LogStoreError) -> LogEntry? {
        var filter = LogFilter()
        filter.idPrefix = id.description
        var before: Int64?
        while true {
            let page = try await entries(filter, before: before, limit: 1)
            if let item = page.items.first { return item.entry }
            guard let next = page.next else { return nil }
            before = next
        }
    }

    /// Returns the telemetry of a time span, by interval and key.
    package func telemetry(_ query: TelemetryQuery) async throws(LogStoreError) -> [TelemetryPoint] {
        try await read { (file) throws(LogStoreError) in try file.telemetry(query) }
    }

    /// Returns measurements of a name, in the order of their times.
    package func measurements(
        _ name: MeasurementName, of place: MeasuredPlace? = nil, from: Int64, to: Int64, resolution: TelemetryResolution
    ) async throws(LogStoreError) -> [Measurement] {
        try await read { (file) throws(LogStoreError) in
            try file.measurements(name, of: place, from: from, to: to, resolution: resolution)
        }
    }

    /// Returns the size of the log.
    package func size() async throws(LogStoreError) -> LogSize {
        try await read { (file) throws(LogStoreError) in try file.size() }
    }

    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (LogFileReader) throws(LogStoreError) -> Value
    ) async throws(LogStoreError) -> Value {
        try await Self.run(on: reading) { [self] () throws(LogStoreError) in
            try reader.withLock { (reader) throws(LogStoreError) in
                let current = generation.load(ordering: .relaxed)
                if reader.generation != current || reader.file == nil {
                    reader = Reader(generation: current, file: try LogFileReader(path: path))
                }
                do throws(LogStoreError) {
                    // Set above.
                    return try body(reader.file!)
                } catch {
                    reader.file = nil
                    throw error
                }
            }
        }
    }

    /// Runs a function where waiting for the disk keeps no other task from running.
    private static func run<Value: Sendable>(
        on queue: DispatchQueue, _ body: @escaping @Sendable () throws(LogStoreError) -> Value
    ) async throws(LogStoreError) -> Value {
        let result: Result<Value, LogStoreError> = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Result { () throws(LogStoreError) in try body() }) }
        }
        return try result.get()
    }
}
