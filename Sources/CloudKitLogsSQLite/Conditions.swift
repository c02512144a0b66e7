import CloudKitLogs

/// A filter in terms of columns: which numbers each of them may have.
struct Conditions {
    /// Columns with a dictionary, and the numbers in it that are accepted, in order.
    private(set) var choices: [(column: Column, accepted: [UInt32])] = []
    /// Columns of which one at least has to have one of these numbers; nil without such a condition.
    private(set) var anyOf: (columns: [Column], accepted: [UInt32])?
    /// Columns of numbers and the accepted range.
    private(set) var ranges: [(column: Column, lower: UInt32, upper: UInt32)] = []
    /// Identifiers besides the entry's own.
    private(set) var identifiers: [(column: Column, rest: Column, id: LogID)] = []
    /// The identifiers of entries; nil for all.
    private(set) var ids: (lower: LogID, upper: LogID)?
    /// The numbers of entries that have the wanted item, in order; nil for all.
    private(set) var numbers: [Int64]?
    /// The pseudonym of a record that entries have to name; nil for all.
    private(set) var record: UInt64?
    /// The times of entries.
    private(set) var times: Range<Int64>
    /// The numbers of entries to look at.
    let span: Range<Int64>
    /// Whether the times of entries have to be looked at.
    var hasTimes: Bool { times != Self.allTimes }

    private static let allTimes = Int64.min..<Int64.max

    /// Looks up the numbers of the filter's texts.
    ///
    /// - Returns: nil if no entry in a block can meet the filter.
    init?(_ filter: LogFilter, numbers span: Range<Int64>, _ database: Database) throws(LogStoreError) {
        self.span = span
        var (from, to) = (filter.from ?? .min, filter.to ?? .max)
        if let prefix = filter.idPrefix {
            guard let range = LogID.range(ofPrefix: prefix) else { return nil }
            ids = range
            from = max(from, range.lower.milliseconds)
            to = min(to, range.upper.milliseconds + 1)
        }
        guard from < to, !span.isEmpty else { return nil }
        times = from..<to
        let texts: [(Column, String?)] = [
            (.operation, filter.operation), (.container, filter.container), (.environment, filter.environment),
            (.database, filter.database), (.user, filter.user), (.device, filter.device), (.zone, filter.zone),
            (.recordType, filter.recordType), (.groupName, filter.groupName), (.code, filter.code),
        ]
        for case (let column, let text?) in texts {
            let number = try database.number(
                "SELECT id FROM texts WHERE text = ? AND role = ?", .text(text), .integer(column.role))
            if number == 0 { return nil }
            choices.append((column, [UInt32(clamping: number)]))
        }
        if !filter.kinds.isEmpty { choices.append((.kind, filter.kinds.map { UInt32($0.rawValue) }.sorted())) }
        if let status = filter.status {
            ranges.append((.status, UInt32(clamping: status.lowerBound), UInt32(clamping: status.upperBound)))
        }
        if filter.onlyFailures { ranges.append((.code, 1, .max)) }
        if let least = filter.microsecondsMin { ranges.append((.microseconds, UInt32(clamping: least), .max)) }
        if let id = filter.operationID { identifiers.append((.operationID, .operationIDRest, id)) }
        if let id = filter.group { identifiers.append((.group, .groupRest, id)) }
        if let item = filter.item {
            numbers = try Self.numbers(of: item, span, database)
            if numbers == [] { return nil }
        }
        record = filter.record
        if let text = filter.text {
            let accepted = try Self.texts(containing: text, database)
            if accepted.isEmpty { return nil }
            anyOf = (Column.searched, accepted)
        }
    }

    private static func numbers(
        of item: String, _ span: Range<Int64>, _ database: Database
    ) throws(LogStoreError) -> [Int64] {
        let row = try database.statement(
            "SELECT number FROM items WHERE name = ? AND number >= ? AND number < ? ORDER BY number")
        defer { row.reset() }
        var numbers: [Int64] = []
        var hasRow = try row.next([.text(item), .integer(span.lowerBound), .integer(span.upperBound)])
        while hasRow {
            numbers.append(row.integer(0))
            hasRow = try row.next()
        }
        return numbers
    }

    private static func texts(containing text: String, _ database: Database) throws(LogStoreError) -> [UInt32] {
        let row = try database.statement(
            "SELECT id FROM texts WHERE role = 0 AND instr(lower(text), ?) > 0 ORDER BY id")
        defer { row.reset() }
        var numbers: [UInt32] = []
        var hasRow = try row.next([.text(LogFilter.folded(text))])
        while hasRow {
            numbers.append(UInt32(clamping: row.integer(0)))
            hasRow = try row.next()
        }
        return numbers
    }

    /// Returns a Boolean value that indicates whether an entry has the wanted identifiers of operation and group.
    func meetsIdentifiers(at index: Int, _ content: BlockContent) throws(LogStoreError) -> Bool {
        for (_, rest, id) in identifiers where try content.identifier(at: index, rest) != id { return false }
        return true
    }
}
