import CSQLite
import CloudKitLogs

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The connection that writes, with what it remembers of the file.
struct LogFileWriter {
    private let database: Database
    /// The number of the next entry.
    private var next: Int64 = 0
    /// The number of the first entry that is in no block yet.
    private var tailStart: Int64 = 0
    /// The entries of `batches`: the newest ones, which are in no block yet; nil: they have to be read.
    private var tail: [LogEntry]?
    private var texts = TextNumbers()
    /// The time at which measurements of containers were last removed.
    private var lastHourly: Int64 = .min / 2

    /// Opens a file, and creates the tables in an empty one.
    ///
    /// - Parameter checkpoints: Whether this connection moves the write-ahead log into the file, which one process alone may do
    ///   (docs/architecture.md, "Checkpoints").
    /// - Throws: `damaged` for another file, `unavailable`.
    init(path: String, checkpoints: Bool = true) throws(LogStoreError) {
        // Readable by its owner alone from its first moment on.
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw LogStoreError(.unavailable, "the log \(path) cannot be created") }
        close(descriptor)
        database = try Database(path: path, isWriter: true)
        // In one transaction, since another process may be making the tables: between two reads it would leave a file that is neither new nor a log.
        try database.execute("BEGIN")
        let application = try database.number("PRAGMA application_id")
        let version = try database.number("PRAGMA user_version")
        let tables = try database.number("SELECT count(*) FROM sqlite_schema")
        try database.execute("COMMIT")
        let isNew = application == 0 && version == 0 && tables == 0
        guard isNew || application == LogFileFormat.applicationID && version == LogFileFormat.version else {
            throw LogStoreError(.damaged, "the file is no log of this version")
        }
        if isNew { try database.execute("PRAGMA page_size = 8192") }
        try database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8192")
        if !checkpoints { try database.execute("PRAGMA wal_autocheckpoint = 0") }
        if isNew {
            try database.transaction { () throws(LogStoreError) in
                // Another process may have made them meanwhile.
                guard try database.number("SELECT count(*) FROM sqlite_schema") == 0 else { return }
                try database.execute(LogFileFormat.tables)
                try database.execute("CREATE TABLE state(next INTEGER NOT NULL, nextBlock INTEGER NOT NULL)")
                try database.execute("INSERT INTO state VALUES(0, 0)")
                try database.execute(
                    "PRAGMA application_id = \(LogFileFormat.applicationID); PRAGMA user_version = \(LogFileFormat.version)"
                )
            }
        }
        try load()
    }

    /// Reads the newest entries, after opening and after another process has written.
    private mutating func load() throws(LogStoreError) {
        next = try database.number("SELECT next FROM state")
        let entries = try readTail()
        tail = entries
        tailStart = next - Int64(entries.count)
        texts.forget()
    }

    /// Gives back memory that makes writing faster: pages of the file, and what is remembered of its contents.
    mutating func releaseMemory() {
        tail = nil
        texts.forget()
        database.releaseMemory()
    }

    private func readTail() throws(LogStoreError) -> [LogEntry] {
        try LogFileReader.tail(database).flatMap(\.entries)
    }

    /// Adds entries and telemetry in one transaction.
    mutating func append(_ entries: [LogEntry], telemetry: [TelemetrySample]) throws(LogStoreError) {
        do throws(LogStoreError) {
            try database.execute("BEGIN IMMEDIATE")
            if try database.number("SELECT next FROM state") != next { try load() }
            if !entries.isEmpty { try add(entries) }
            for sample in telemetry { try add(sample) }
            while next - tailStart >= Int64(LogFileFormat.blockRows) { try seal() }
            try database.execute("COMMIT")
        } catch {
            // Its own failure repeats one that is already known.
            try? database.execute("ROLLBACK")
            // What is remembered may be of the transaction that failed.
            next = -1
            throw error
        }
    }

    private mutating func add(_ entries: [LogEntry]) throws(LogStoreError) {
        try insert(entries[...], from: next)
        next += Int64(entries.count)
        tail? += entries
        try database.run("UPDATE state SET next = ?", .integer(next))
    }

    // MARK: Blocks

    /// Inserts a row of `batches`.
    private func insert(_ entries: ArraySlice<LogEntry>, from number: Int64) throws(LogStoreError) {
        var writer = EntryWriter()
        writer.reserve(entries.count * Self.entryBytes)
        var timeMax: Int64 = 0
        // In place: a copy of an entry counts a reference of each of its texts.
        entries.withUnsafeBufferPointer { entries in
            for index in entries.indices {
                entries[index].write(to: &writer)
                timeMax = max(timeMax, entries[index].time)
            }
        }
        try database.run(
            "INSERT INTO batches(first, count, timeMax, data) VALUES(?, ?, ?, ?)", .integer(number),
            .integer(Int64(entries.count)), .integer(timeMax), .bytes(writer.bytes))
    }

    /// About the bytes of a usual entry.
    private static let entryBytes = 256

    /// Makes a block of the oldest entries that are in none.
    private mutating func seal() throws(LogStoreError) {
        let all = if let tail { tail } else { try readTail() }
        guard Int64(all.count) == next - tailStart else {
            throw LogStoreError(.damaged, "the log is damaged: it lacks its newest entries")
        }
        let (entries, rest) = (all[..<LogFileFormat.blockRows], all[LogFileFormat.blockRows...])
        let first = tailStart
        let block = try database.number("SELECT nextBlock FROM state")
        let times = entries.map(\.time)
        let (timeMin, timeMax) = (times.min() ?? 0, times.max() ?? 0)
        try database.run(
            "INSERT INTO blocks(block, first, count, timeMin, timeMax) VALUES(?, ?, ?, ?, ?)", .integer(block),
            .integer(first), .integer(Int64(entries.count)), .integer(timeMin), .integer(timeMax))
        try database.run("UPDATE state SET nextBlock = ?", .integer(block + 1))
        for column in Column.texts {
            let ids = try numbers(of: entries, column, in: block)
            try insert(ids, into: column, block)
        }
        for column in Column.choices {
            try insert(entries.map { Self.bounded(column.number(of: $0)) }, into: column, block)
        }
        for column in Column.numbers {
            try insert(ColumnBytes.encode(entries.map { Self.bounded(column.number(of: $0)) }), into: column, block)
        }
        try insert(ColumnBytes.encode(times.map { Self.bounded(Int($0 - timeMin)) }), into: .time, block)
        try insert(Self.identifiers(entries.map(\.id), skipping: 6), into: .idRest, block)
        try insert(entries.map(\.operationID), into: .operationID, .operationIDRest, block)
        try insert(entries.map(\.group), into: .group, .groupRest, block)
        try insertRecords(of: entries, block)
        for (index, entry) in entries.enumerated() {
            if let details = entry.details { try insert(details, first + Int64(index)) }
        }
        // In memory of their own size: the block's would be kept.
        tail = Array(rest)
        tailStart = first + Int64(entries.count)
        try keepTail(rest)
    }

    /// Returns the numbers of the entries' texts in a column, 0 for none.
    private mutating func numbers(
        of entries: ArraySlice<LogEntry>, _ column: Column, in block: Int64
    ) throws(LogStoreError) -> [UInt32] {
        var ids: [UInt32] = []
        ids.reserveCapacity(entries.count)
        // Most columns have the same text in many entries in a row.
        var last: (text: String, number: UInt32)?
        for entry in entries {
            guard let text = column.text(of: entry) else {
                ids.append(0)
                continue
            }
            if let last, last.text == text {
                ids.append(last.number)
                continue
            }
            let number = try texts.number(of: text, role: column.role, in: block, database)
            last = (text, number)
            ids.append(number)
        }
        return ids
    }

    /// Inserts the pseudonyms of the records that entries named; nothing where none named any.
    private func insertRecords(of entries: ArraySlice<LogEntry>, _ block: Int64) throws(LogStoreError) {
        var found: [(record: UInt64, index: Int)] = []
        for (index, entry) in entries.enumerated() {
            for record in entry.records { found.append((record, index)) }
        }
        if found.isEmpty { return }
        found.sort {
            (UInt32(truncatingIfNeeded: $0.record), $0.index) < (UInt32(truncatingIfNeeded: $1.record), $1.index)
        }
        var (heads, rests): ([UInt8], [UInt8]) = ([], [])
        heads.reserveCapacity(4 * found.count)
        rests.reserveCapacity(6 * found.count)
        for (record, index) in found {
            withUnsafeBytes(of: UInt32(truncatingIfNeeded: record).littleEndian) { heads.append(contentsOf: $0) }
            withUnsafeBytes(of: UInt16(truncatingIfNeeded: index).littleEndian) { rests.append(contentsOf: $0) }
            withUnsafeBytes(of: UInt32(truncatingIfNeeded: record >> 32).littleEndian) { rests.append(contentsOf: $0) }
        }
        try insertDictionary(heads, of: .records, block)
        try insert(rests, into: .records, block)
    }

    /// Removes from `batches` what is in a block now, and writes the rest of a batch of which that is a part again.
    private func keepTail(_ entries: ArraySlice<LogEntry>) throws(LogStoreError) {
        try database.run("DELETE FROM batches WHERE first < ?", .integer(tailStart))
        let row = try database.number("SELECT coalesce(min(first), \(next)) FROM batches")
        guard row > tailStart else { return }
        try insert(entries.prefix(Int(row - tailStart)), from: tailStart)
    }

    private func insert(_ details: LogDetails, _ number: Int64) throws(LogStoreError) {
        var writer = EntryWriter()
        details.write(to: &writer)
        try database.run(
            "INSERT INTO details(number, data) VALUES(?, ?)", .integer(number), .bytes(writer.bytes))
        for name in Set(details.failures.compactMap(\.item)) {
            try database.run("INSERT INTO items(name, number) VALUES(?, ?)", .text(name), .integer(number))
        }
    }

    /// Inserts a column with its dictionary.
    private func insert(_ values: [UInt32], into column: Column, _ block: Int64) throws(LogStoreError) {
        let (distinct, positions) = ColumnBytes.positions(of: values)
        var ids: [UInt8] = []
        ids.reserveCapacity(4 * distinct.count)
        for id in distinct { withUnsafeBytes(of: id.littleEndian) { ids.append(contentsOf: $0) } }
        try insertDictionary(ids, of: column, block)
        try insert(ColumnBytes.encode(positions), into: column, block)
    }

    private func insertDictionary(_ bytes: [UInt8], of column: Column, _ block: Int64) throws(LogStoreError) {
        try database.run(
            "INSERT INTO dictionaries(id, ids) VALUES(?, ?)", .integer(column.row(of: block)), .bytes(bytes))
    }

    /// Inserts identifiers: four random bytes of each for filters, and the others; nothing where none has one.
    private func insert(
        _ ids: [LogID?], into column: Column, _ rest: Column, _ block: Int64
    ) throws(LogStoreError) {
        guard ids.contains(where: { $0 != nil }) else { return }
        try insert(ColumnBytes.encode(ids.map { $0.map(LogFileReader.head) ?? 0 }), into: column, block)
        try insert(Self.identifiers(ids.map { $0 ?? LogID(high: 0, low: 0) }, skipping: 0), into: rest, block)
    }

    private func insert(_ bytes: [UInt8], into column: Column, _ block: Int64) throws(LogStoreError) {
        try database.run(
            "INSERT INTO columns(id, data) VALUES(?, ?)", .integer(column.row(of: block)), .bytes(bytes))
    }

    private static func identifiers(_ ids: [LogID], skipping count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(ids.count * (16 - count))
        for id in ids {
            withUnsafeBytes(of: id.high.bigEndian) { bytes.append(contentsOf: $0.dropFirst(count)) }
            withUnsafeBytes(of: id.low.bigEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    private static func bounded(_ number: Int) -> UInt32 { UInt32(clamping: number) }

    // MARK: Telemetry

    /// Keys of an interval; others are counted together.
    private static let keysMax = TelemetryCollector.keysMax

    private func add(_ sample: TelemetrySample) throws(LogStoreError) {
        for resolution in TelemetryResolution.allCases {
            let start = Database.Value.integer(resolution.start(of: sample.minute))
            let length = Database.Value.integer(Int64(resolution.rawValue))
            var key = sample.key.bytes
            var counts = try stored(length, start, key)
            if counts == nil,
                try database.number(
                    "SELECT count(*) FROM telemetry WHERE resolution = ? AND start = ?", length, start)
                    >= Self.keysMax
            {
                key = TelemetryKey(kind: sample.key.kind, container: nil, environment: nil, operation: "(other)").bytes
                counts = try stored(length, start, key)
            }
            var sum = counts ?? TelemetryCounts()
            sum.add(sample.counts)
            try database.run(
                "INSERT OR REPLACE INTO telemetry(resolution, start, key, counts) VALUES(?, ?, ?, ?)", length, start,
                .bytes(key), .bytes(sum.bytes))
        }
    }

    private func stored(
        _ length: Database.Value, _ start: Database.Value, _ key: [UInt8]
    ) throws(LogStoreError) -> TelemetryCounts? {
        let row = try database.statement("SELECT counts FROM telemetry WHERE resolution = ? AND start = ? AND key = ?")
        defer { row.reset() }
        guard try row.next([length, start, .bytes(key)]) else { return nil }
        return TelemetryCounts(bytes: row.bytes(0))
    }

    /// Adds measurements; of an interval the last one counts.
    func add(_ measurements: [Measurement]) throws(LogStoreError) {
        try database.transaction { () throws(LogStoreError) in
            for measurement in measurements {
                for resolution in TelemetryResolution.allCases {
                    try database.run(
                        "INSERT OR REPLACE INTO measurements(resolution, name, start, value) VALUES(?, ?, ?, ?)",
                        .integer(Int64(resolution.rawValue)),
                        .text(LogFileReader.key(measurement.name, measurement.place)),
                        .integer(resolution.start(of: measurement.time)), .integer(measurement.value))
                }
            }
        }
    }

    // MARK: Removing

    /// Rows of texts and telemetry that one step removes.
    private static let stepMax = 1000

    /// Removes the oldest block if it is beyond the bounds, and what only it needed.
    mutating func prune(_ retention: LogRetention, now: Int64) throws(LogStoreError) -> Bool {
        let oldest = now - Int64(retention.days) * 86_400_000
        let isDone: Bool
        do throws(LogStoreError) {
            try database.execute("BEGIN IMMEDIATE")
            if try database.number("SELECT next FROM state") != next { try load() }
            isDone = try removeBlock(retention, oldest: oldest)
            if isDone { try removeTail(oldest: oldest) }
            try removeTelemetry(now: now)
            try database.execute("COMMIT")
        } catch {
            try? database.execute("ROLLBACK")
            next = -1
            throw error
        }
        return !isDone
    }

    /// - Returns: A Boolean value that indicates whether there was no block to remove.
    private mutating func removeBlock(_ retention: LogRetention, oldest: Int64) throws(LogStoreError) -> Bool {
        let row = try database.statement("SELECT block, first, count, timeMax FROM blocks ORDER BY block LIMIT 1")
        var found: (block: Int64, first: Int64, count: Int64, timeMax: Int64)?
        if try row.next([]) { found = (row.integer(0), row.integer(1), row.integer(2), row.integer(3)) }
        row.reset()
        guard let found else { return true }
        let rows = next - found.first
        let bytes = try LogFileReader.bytes(database)
        guard found.timeMax < oldest || rows - found.count >= retention.rowsMax || bytes > retention.bytesMax else {
            return true
        }
        for column in Column.allCases {
            let id = Database.Value.integer(column.row(of: found.block))
            try database.run("DELETE FROM columns WHERE id = ?", id)
            try database.run("DELETE FROM dictionaries WHERE id = ?", id)
        }
        let end = Database.Value.integer(found.first + found.count)
        try database.run("DELETE FROM details WHERE number < ?", end)
        try database.run(
            "DELETE FROM items WHERE (name, number) IN (SELECT name, number FROM items WHERE number < ?)", end)
        try database.run("DELETE FROM blocks WHERE block = ?", .integer(found.block))
        try database.run(
            "DELETE FROM texts WHERE id IN (SELECT id FROM texts WHERE lastBlock <= ? LIMIT \(Self.stepMax))",
            .integer(found.block))
        texts.forget()
        return false
    }

    /// Removes the newest entries, too, when they are too old: a cloud without requests keeps none for longer than others.
    private mutating func removeTail(oldest: Int64) throws(LogStoreError) {
        guard try database.number("SELECT count(*) FROM blocks") == 0 else { return }
        let end = try database.number(
            "SELECT coalesce((SELECT min(first) FROM batches WHERE timeMax >= ?), \(next))", .integer(oldest))
        try database.run("DELETE FROM batches WHERE first < ?", .integer(end))
        tail = tail.map { Array($0.suffix(Int(next - end))) }
        tailStart = end
    }

    private mutating func removeTelemetry(now: Int64) throws(LogStoreError) {
        let isHourly = now - lastHourly >= TelemetryResolution.hour.milliseconds
        if isHourly { lastHourly = now }
        for resolution in TelemetryResolution.allCases {
            let oldest = Database.Value.integer(now - Int64(resolution.daysKept) * 86_400_000)
            let length = Database.Value.integer(Int64(resolution.rawValue))
            try database.run(
                """
                DELETE FROM telemetry WHERE (resolution, start, key) IN (
                    SELECT resolution, start, key FROM telemetry WHERE resolution = ? AND start < ? LIMIT \(Self.stepMax))
                """, length, oldest)
            for name in MeasurementName.allCases where !name.isOfContainer {
                try database.run(
                    "DELETE FROM measurements WHERE resolution = ? AND name = ? AND start < ?", length,
                    .text(name.rawValue), oldest)
            }
            // Those of containers have many names, which takes a look at all of them.
            guard isHourly else { continue }
            for name in MeasurementName.allCases where name.isOfContainer {
                try database.run(
                    "DELETE FROM measurements WHERE resolution = ? AND name >= ? AND name < ? AND start < ?", length,
                    .text(name.rawValue + " "), .text(name.rawValue + "!"), oldest)
            }
        }
    }
}

/// The numbers of texts, remembered for the most frequent ones.
struct TextNumbers {
    private struct Entry {
        var number: UInt32
        /// The last block for which the row is kept.
        var lastBlock: Int64
    }

    /// By role: what tells the texts of users and devices from others is no part of what is hashed.
    private var known: [[String: Entry]] = [[:], [:]]
    /// Texts that are remembered.
    private static let knownMax = 20_000
    /// A text that is in use is kept for so many blocks more, so that its row is written once in as many.
    private static let blocksAhead: Int64 = 64

    mutating func forget() { known = [[:], [:]] }

    /// Returns the number of a text, which gets one at its first use.
    mutating func number(
        of text: String, role: Int64, in block: Int64, _ database: Database
    ) throws(LogStoreError) -> UInt32 {
        let place = role == 0 ? 0 : 1
        if let entry = known[place][text], entry.lastBlock >= block { return entry.number }
        let row = try database.statement("SELECT id, lastBlock FROM texts WHERE text = ? AND role = ?")
        var entry: Entry?
        if try row.next([.text(text), .integer(role)]) {
            entry = Entry(number: UInt32(clamping: row.integer(0)), lastBlock: row.integer(1))
        }
        row.reset()
        let lastBlock = block + Self.blocksAhead
        if let found = entry {
            if found.lastBlock < block {
                try database.run(
                    "UPDATE texts SET lastBlock = ? WHERE id = ?", .integer(lastBlock), .integer(Int64(found.number)))
                entry?.lastBlock = lastBlock
            }
        } else {
            try database.run(
                "INSERT INTO texts(text, role, lastBlock) VALUES(?, ?, ?)", .text(text), .integer(role),
                .integer(lastBlock))
            entry = Entry(number: UInt32(clamping: database.lastRow), lastBlock: lastBlock)
        }
        if known[place].count >= Self.knownMax { known[place] = [:] }
        known[place][text] = entry
        return entry?.number ?? 0
    }
}
