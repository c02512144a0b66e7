import CloudKitLogs

/// A block of entries and the connection that reads it.
struct Block {
    var block: Int64
    var first: Int64
    var count: Int
    var timeMin: Int64
    var timeMax: Int64
    var database: Database

    /// Marks the entries that may meet the conditions: all but those on identifiers.
    ///
    /// - Returns: A Boolean value that indicates whether there is any.
    func mark(_ conditions: Conditions, _ marks: inout [Bool]) throws(LogStoreError) -> Bool {
        // Dictionaries first: most blocks are skipped by them, unread.
        var accepted: [(column: Column, isAccepted: [Bool])] = []
        for (column, numbers) in conditions.choices {
            let isAccepted = try positions(of: numbers, column)
            if !isAccepted.contains(true) { return false }
            if isAccepted.contains(false) { accepted.append((column, isAccepted)) }
        }
        var ranges: [(column: Column, lower: UInt32, upper: UInt32)] = []
        for (column, lower, upper) in conditions.ranges {
            guard column == .code || column == .status else {
                ranges.append((column, lower, upper))
                continue
            }
            let isAccepted = try dictionary(column) { number in number >= lower && number <= upper }
            if !isAccepted.contains(true) { return false }
            if isAccepted.contains(false) { accepted.append((column, isAccepted)) }
        }
        var any: [(column: Column, isAccepted: [Bool])] = []
        if let (columns, numbers) = conditions.anyOf {
            for column in columns {
                let isAccepted = try positions(of: numbers, column)
                if isAccepted.contains(true) { any.append((column, isAccepted)) }
            }
            if any.isEmpty { return false }
        }
        guard markSpan(conditions, &marks) else { return false }
        if let record = conditions.record {
            let named = try entries(naming: record)
            for index in marks.indices where marks[index] && !named.contains(index) { marks[index] = false }
            if named.isEmpty || !marks.contains(true) { return false }
        }
        for (column, isAccepted) in accepted {
            try withColumn(column) { ColumnBytes.keep(&marks, in: $0, where: isAccepted) }
            if !marks.contains(true) { return false }
        }
        if !any.isEmpty {
            var union = [Bool](repeating: false, count: count)
            for (column, isAccepted) in any {
                var own = marks
                try withColumn(column) { ColumnBytes.keep(&own, in: $0, where: isAccepted) }
                for index in union.indices where own[index] { union[index] = true }
            }
            marks = union
        }
        for (column, _, id) in conditions.identifiers {
            let head = LogFileReader.head(id)
            let isThere = try withColumn(column) { ColumnBytes.keep(&marks, in: $0, from: head, to: head) }
            if !isThere { return false }
        }
        for (column, lower, upper) in ranges {
            try withColumn(column) { ColumnBytes.keep(&marks, in: $0, from: lower, to: upper) }
        }
        if conditions.hasTimes, timeMin < conditions.times.lowerBound || timeMax >= conditions.times.upperBound {
            let lower = UInt32(clamping: conditions.times.lowerBound - min(timeMin, conditions.times.lowerBound))
            let upper = UInt32(clamping: min(timeMax, conditions.times.upperBound - 1) - timeMin)
            try withColumn(.time) { ColumnBytes.keep(&marks, in: $0, from: lower, to: upper) }
        }
        return marks.contains(true)
    }

    /// Marks all entries of the span, or those that have the wanted item.
    private func markSpan(_ conditions: Conditions, _ marks: inout [Bool]) -> Bool {
        let lower = Int(clamping: max(conditions.span.lowerBound - first, 0))
        let upper = Int(clamping: min(conditions.span.upperBound - first, Int64(count)))
        guard lower < upper else { return false }
        marks = [Bool](repeating: false, count: count)
        guard let numbers = conditions.numbers else {
            for index in lower..<upper { marks[index] = true }
            return true
        }
        let start = numbers.partitioningIndex { $0 >= first + Int64(lower) }
        var found = false
        for number in numbers[start...] {
            guard number < first + Int64(upper) else { break }
            marks[Int(number - first)] = true
            found = true
        }
        return found
    }

    /// Returns the positions of the entries that named a record.
    private func entries(naming record: UInt64) throws(LogStoreError) -> Set<Int> {
        let head = UInt32(truncatingIfNeeded: record)
        let span = try withRecordHeads { heads in
            let numbers = 0..<(heads.count / 4)
            func number(at index: Int) -> UInt32 {
                UInt32(littleEndian: heads.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self))
            }
            let start = numbers.partitioningIndex { number(at: $0) >= head }
            return start..<(start..<numbers.upperBound).partitioningIndex { number(at: $0) > head }
        }
        guard let span, !span.isEmpty else { return [] }
        var found: Set<Int> = []
        try withColumn(.records) { bytes in
            for (index, rest) in Self.namings(in: bytes, span) where rest == UInt32(record >> 32) {
                found.insert(index)
            }
        }
        return found
    }

    /// Returns the records that each entry named; empty for a block in which none did.
    func records() throws(LogStoreError) -> [Int: [UInt64]] {
        let heads = try withRecordHeads { heads in
            (0..<(heads.count / 4)).map {
                UInt32(littleEndian: heads.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self))
            }
        }
        guard let heads else { return [:] }
        var records: [Int: [UInt64]] = [:]
        try withColumn(.records) { bytes in
            for (head, naming) in zip(heads, Self.namings(in: bytes, heads.indices)) {
                records[naming.index, default: []].append(UInt64(naming.rest) << 32 | UInt64(head))
            }
        }
        return records
    }

    /// Returns what the column of named records has at some places: the position of an entry, and the high bytes of a pseudonym.
    private static func namings(in bytes: UnsafeRawBufferPointer, _ span: Range<Int>) -> [(index: Int, rest: UInt32)] {
        span.prefix { 6 * $0 + 6 <= bytes.count }.map { place in
            let index = UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 6 * place, as: UInt16.self))
            let rest = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 6 * place + 2, as: UInt32.self))
            return (Int(index), rest)
        }
    }

    /// Calls a function with the low bytes of the named records; nil for a block without any.
    private func withRecordHeads<Result>(
        _ body: (UnsafeRawBufferPointer) -> Result
    ) throws(LogStoreError) -> Result? {
        let row = try database.statement("SELECT ids FROM dictionaries WHERE id = ?")
        defer { row.reset() }
        guard try row.next([.integer(Column.records.row(of: block))]) else { return nil }
        return row.withBytes(0, body)
    }

    /// Returns, by position in a column's dictionary, whether the number is one of those given.
    private func positions(of numbers: [UInt32], _ column: Column) throws(LogStoreError) -> [Bool] {
        if numbers.count == 1 {
            let number = numbers[0]
            return try dictionary(column) { $0 == number }
        }
        return try dictionary(column) { number in
            let index = numbers.partitioningIndex { $0 >= number }
            return index < numbers.count && numbers[index] == number
        }
    }

    /// Returns, by position in a column's dictionary, whether a number is accepted.
    private func dictionary(
        _ column: Column, _ isAccepted: (UInt32) -> Bool
    ) throws(LogStoreError) -> [Bool] {
        let row = try database.statement("SELECT ids FROM dictionaries WHERE id = ?")
        defer { row.reset() }
        guard try row.next([.integer(column.row(of: block))]) else { throw Self.damaged }
        return row.withBytes(0) { bytes in
            (0..<(bytes.count / 4)).map {
                isAccepted(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self)))
            }
        }
    }

    /// Returns the numbers of a column's dictionary.
    func dictionary(_ column: Column) throws(LogStoreError) -> [UInt32] {
        var numbers: [UInt32] = []
        _ = try dictionary(column) { number in
            numbers.append(number)
            return true
        }
        return numbers
    }

    /// Calls a function with the bytes of a column.
    ///
    /// - Returns: A Boolean value that indicates whether the block has the column.
    @discardableResult
    func withColumn(_ column: Column, _ body: (UnsafeRawBufferPointer) -> Void) throws(LogStoreError) -> Bool {
        let row = try database.statement("SELECT data FROM columns WHERE id = ?")
        defer { row.reset() }
        guard try row.next([.integer(column.row(of: block))]) else { return false }
        row.withBytes(0, body)
        return true
    }

    static let damaged = LogStoreError(.damaged, "the log is damaged: a column cannot be read")
}

/// The columns of a block that were read for its entries.
final class BlockContent {
    private let block: Block
    private var columns: [Column: [UInt8]] = [:]
    private var dictionaries: [Column: [UInt32]] = [:]
    private var texts: [UInt32: String] = [:]
    private var records: [Int: [UInt64]]?

    init(_ block: Block) { self.block = block }

    /// Returns the identifier of an entry.
    func id(at index: Int) throws(LogStoreError) -> LogID {
        let time = try number(at: index, .time)
        let rest = try bytes(.idRest)
        guard 10 * index + 10 <= rest.count else { throw Block.damaged }
        let milliseconds = UInt64(bitPattern: block.timeMin + Int64(time))
        let high = UInt64(rest[10 * index]) << 8 | UInt64(rest[10 * index + 1])
        return LogID(high: milliseconds << 16 | high, low: Self.load(rest, 10 * index + 2))
    }

    /// Returns an identifier of another kind; nil where the entry has none.
    func identifier(at index: Int, _ column: Column) throws(LogStoreError) -> LogID? {
        let bytes = try bytes(column)
        if bytes.isEmpty { return nil }
        guard 16 * index + 16 <= bytes.count else { throw Block.damaged }
        let id = LogID(high: Self.load(bytes, 16 * index), low: Self.load(bytes, 16 * index + 8))
        return id.high == 0 && id.low == 0 ? nil : id
    }

    /// Returns an entry.
    func entry(at index: Int, id: LogID) throws(LogStoreError) -> LogEntry {
        guard let kind = LogEntry.Kind(rawValue: UInt8(clamping: try choice(at: index, .kind))) else {
            throw Block.damaged
        }
        var entry = LogEntry(id: id, kind: kind, operation: try text(at: index, .operation) ?? "")
        entry.container = try text(at: index, .container)
        entry.environment = try text(at: index, .environment)
        entry.database = try text(at: index, .database)
        entry.user = try text(at: index, .user)
        entry.device = try text(at: index, .device)
        entry.zone = try text(at: index, .zone)
        entry.recordType = try text(at: index, .recordType)
        entry.client = try text(at: index, .client)
        entry.groupName = try text(at: index, .groupName)
        entry.code = try text(at: index, .code)
        entry.operationID = try identifier(at: index, .operationIDRest)
        entry.group = try identifier(at: index, .groupRest)
        entry.status = Int(try choice(at: index, .status))
        entry.microseconds = Int(try number(at: index, .microseconds))
        entry.bytesIn = Int(try number(at: index, .bytesIn))
        entry.bytesOut = Int(try number(at: index, .bytesOut))
        entry.itemsIn = Int(try number(at: index, .itemsIn))
        entry.itemsOut = Int(try number(at: index, .itemsOut))
        entry.itemsFailed = Int(try number(at: index, .itemsFailed))
        entry.retryAfter = Int(try number(at: index, .retryAfter))
        entry.details = try details(of: block.first + Int64(index))
        if records == nil { records = try block.records() }
        if let named = records?[index] { entry.setRecords(named) }
        return entry
    }

    private func details(of number: Int64) throws(LogStoreError) -> LogDetails? {
        let row = try block.database.statement("SELECT data FROM details WHERE number = ?")
        defer { row.reset() }
        guard try row.next([.integer(number)]) else { return nil }
        var reader = EntryReader(row.bytes(0))
        do throws(EntryReader.Malformed) {
            return try LogDetails(&reader)
        } catch {
            throw Block.damaged
        }
    }

    private func text(at index: Int, _ column: Column) throws(LogStoreError) -> String? {
        let number = try choice(at: index, column)
        if number == 0 { return nil }
        if let known = texts[number] { return known }
        let row = try block.database.statement("SELECT text FROM texts WHERE id = ?")
        defer { row.reset() }
        guard try row.next([.integer(Int64(number))]), let text = row.text(0) else { throw Block.damaged }
        texts[number] = text
        return text
    }

    private func choice(at index: Int, _ column: Column) throws(LogStoreError) -> UInt32 {
        if dictionaries[column] == nil { dictionaries[column] = try block.dictionary(column) }
        let position = Int(try number(at: index, column))
        guard let dictionary = dictionaries[column], position < dictionary.count else { throw Block.damaged }
        return dictionary[position]
    }

    private func number(at index: Int, _ column: Column) throws(LogStoreError) -> UInt32 {
        let number = try bytes(column).withUnsafeBytes { ColumnBytes.number(at: index, in: $0) }
        guard let number else { throw Block.damaged }
        return number
    }

    private func bytes(_ column: Column) throws(LogStoreError) -> [UInt8] {
        if let known = columns[column] { return known }
        var bytes: [UInt8] = []
        try block.withColumn(column) { bytes = Array($0) }
        columns[column] = bytes
        return bytes
    }

    private static func load(_ bytes: [UInt8], _ offset: Int) -> UInt64 {
        bytes.withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
    }
}

extension RandomAccessCollection where Index == Int {
    /// Returns the first position whose element meets a condition that all later ones meet, too.
    func partitioningIndex(where belongs: (Element) -> Bool) -> Int {
        var (lower, upper) = (startIndex, endIndex)
        while lower < upper {
            let middle = (lower + upper) / 2
            if belongs(self[middle]) { upper = middle } else { lower = middle + 1 }
        }
        return lower
    }
}
