import CSQLite
import CloudKitLogs

/// A connection that reads.
struct LogFileReader {
    private let database: Database

    /// Opens a file.
    ///
    /// - Throws: `missing`, `damaged`, `unavailable`.
    init(path: String) throws(LogStoreError) {
        database = try Database(path: path, isWriter: false)
        guard try database.number("PRAGMA application_id") == LogFileFormat.applicationID,
            try database.number("PRAGMA user_version") == LogFileFormat.version
        else { throw LogStoreError(.damaged, "the file \(path) is no log of this version") }
        try database.execute("PRAGMA cache_size = -4096")
    }

    // MARK: The newest entries

    /// One transaction's entries.
    struct Batch {
        var first: Int64
        var entries: [LogEntry]
    }

    /// Returns the entries that are in no block yet.
    static func tail(_ database: Database) throws(LogStoreError) -> [Batch] {
        var batches: [Batch] = []
        let row = try database.statement("SELECT first, count, data FROM batches ORDER BY first")
        defer { row.reset() }
        while try row.next() {
            var reader = EntryReader(row.bytes(2))
            var entries: [LogEntry] = []
            do throws(EntryReader.Malformed) {
                for _ in 0..<row.integer(1) { entries.append(try LogEntry(&reader)) }
            } catch {
                throw LogStoreError(.damaged, "the log is damaged: an entry cannot be read")
            }
            batches.append(Batch(first: row.integer(0), entries: entries))
        }
        return batches
    }

    // MARK: Filtering

    /// Returns entries that meet a filter, from a number on, in one of the two directions.
    ///
    /// - Parameter isOver: Tells whether the search has taken its time. It is asked after each block.
    func entries(
        _ filter: LogFilter, from number: Int64?, isAscending: Bool, limit: Int, until isOver: () -> Bool
    ) throws(LogStoreError) -> LogPage {
        let limit = min(max(limit, 1), 1000)
        return try database.snapshot { () throws(LogStoreError) in
            let next = try database.number("SELECT next FROM state")
            var items: [LogPage.Item] = []
            var end: Block?
            if !filter.isEmpty {
                if isAscending {
                    let after = number ?? -1
                    end = try addFromBlocks(
                        filter, numbers: (after + 1)..<max(next, after + 1), true, limit, to: &items, until: isOver)
                    if end == nil, items.count < limit {
                        try addFromTail(filter, after + 1, next, true, limit, to: &items)
                    }
                } else {
                    let before = min(number ?? next, next)
                    try addFromTail(filter, 0, before, false, limit, to: &items)
                    if items.count < limit {
                        end = try addFromBlocks(
                            filter, numbers: 0..<max(before, 0), false, limit, to: &items, until: isOver)
                    }
                }
            }
            if let end {
                return isAscending
                    ? LogPage(items: items, next: end.first + Int64(end.count) - 1, searchedTo: end.timeMax)
                    : LogPage(items: items, next: end.first, searchedTo: end.timeMin)
            }
            let isFull = items.count == limit
            return LogPage(items: items, next: isFull ? items.last?.number : isAscending ? next - 1 : nil)
        }
    }

    private func addFromTail(
        _ filter: LogFilter, _ lower: Int64, _ upper: Int64, _ isAscending: Bool, _ limit: Int,
        to items: inout [LogPage.Item]
    ) throws(LogStoreError) {
        var found: [LogPage.Item] = []
        for batch in try Self.tail(database) {
            for (index, entry) in batch.entries.enumerated() {
                let number = batch.first + Int64(index)
                if number >= lower, number < upper, filter.matches(entry) {
                    found.append(LogPage.Item(number: number, entry: entry))
                }
            }
        }
        items += (isAscending ? found : found.reversed()).prefix(limit - items.count)
    }

    /// Adds the entries of blocks that meet a filter.
    ///
    /// - Returns: The last block that was looked at, if the time was over before the others were; otherwise nil.
    private func addFromBlocks(
        _ filter: LogFilter, numbers: Range<Int64>, _ isAscending: Bool, _ limit: Int, to items: inout [LogPage.Item],
        until isOver: () -> Bool
    ) throws(LogStoreError) -> Block? {
        guard let conditions = try Conditions(filter, numbers: numbers, database) else { return nil }
        let row = try database.statement(
            "SELECT block, first, count, timeMin, timeMax FROM blocks ORDER BY block \(isAscending ? "" : "DESC")")
        var blocks: [Block] = []
        while try row.next() {
            let block = Block(
                block: row.integer(0), first: row.integer(1), count: Int(clamping: row.integer(2)),
                timeMin: row.integer(3), timeMax: row.integer(4), database: database)
            if block.timeMax >= conditions.times.lowerBound, block.timeMin < conditions.times.upperBound,
                block.first < numbers.upperBound, block.first + Int64(block.count) > numbers.lowerBound
            {
                blocks.append(block)
            }
        }
        row.reset()
        var marks: [Bool] = []
        for (position, block) in blocks.enumerated() {
            if try block.mark(conditions, &marks) {
                let content = BlockContent(block)
                for index in isAscending ? Array(marks.indices) : marks.indices.reversed() where marks[index] {
                    let id = try content.id(at: index)
                    if let range = conditions.ids, id < range.lower || range.upper < id { continue }
                    guard try conditions.meetsIdentifiers(at: index, content) else { continue }
                    items.append(
                        LogPage.Item(number: block.first + Int64(index), entry: try content.entry(at: index, id: id)))
                    if items.count == limit { return nil }
                }
            }
            if position + 1 < blocks.count, isOver() { return block }
        }
        return nil
    }

    /// Four bytes of an identifier, by which a filter looks for it: those at the end, which are random.
    static func head(_ id: LogID) -> UInt32 { UInt32(truncatingIfNeeded: id.low) }

    // MARK: Telemetry

    func telemetry(_ query: TelemetryQuery) throws(LogStoreError) -> [TelemetryPoint] {
        let row = try database.statement(
            "SELECT start, key, counts FROM telemetry WHERE resolution = ? AND start >= ? AND start < ? ORDER BY start")
        defer { row.reset() }
        var points: [TelemetryPoint] = []
        var hasRow = try row.next([
            .integer(Int64(query.resolution.rawValue)), .integer(query.from), .integer(query.to),
        ])
        while hasRow {
            guard let key = TelemetryKey(bytes: row.bytes(1)), let counts = TelemetryCounts(bytes: row.bytes(2)) else {
                throw LogStoreError(.damaged, "the log is damaged: telemetry cannot be read")
            }
            if query.matches(key) { points.append(TelemetryPoint(start: row.integer(0), key: key, counts: counts)) }
            hasRow = try row.next()
        }
        return points
    }

    func measurements(
        _ name: MeasurementName, of place: MeasuredPlace?, from: Int64, to: Int64, resolution: TelemetryResolution
    ) throws(LogStoreError) -> [Measurement] {
        let row = try database.statement(
            """
            SELECT start, value FROM measurements WHERE resolution = ? AND name = ? AND start >= ? AND start < ?
            ORDER BY start
            """)
        defer { row.reset() }
        var measurements: [Measurement] = []
        var hasRow = try row.next([
            .integer(Int64(resolution.rawValue)), .text(Self.key(name, place)), .integer(from), .integer(to),
        ])
        while hasRow {
            measurements.append(Measurement(time: row.integer(0), name: name, of: place, value: row.integer(1)))
            hasRow = try row.next()
        }
        return measurements
    }

    /// Returns the name of measurements in the file: with the container and environment where there is one.
    static func key(_ name: MeasurementName, _ place: MeasuredPlace?) -> String {
        place.map { "\(name.rawValue) \($0.environment) \($0.container)" } ?? name.rawValue
    }

    // MARK: Size

    func size() throws(LogStoreError) -> LogSize {
        let rows = try database.number(
            "SELECT coalesce((SELECT sum(count) FROM blocks), 0) + coalesce((SELECT sum(count) FROM batches), 0)")
        return LogSize(rows: Int(rows), bytes: try Self.bytes(database))
    }

    static func bytes(_ database: Database) throws(LogStoreError) -> Int {
        let pages = try database.number("PRAGMA page_count") - database.number("PRAGMA freelist_count")
        return Int(try pages * database.number("PRAGMA page_size"))
    }
}
