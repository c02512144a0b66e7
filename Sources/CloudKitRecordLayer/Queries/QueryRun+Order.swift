import OrderedStore

/// A record with its place in the order.
private struct SortedRow: Sendable {
    var position: SortPosition
    /// nil where so many records were found that they are read again once the page is known.
    var record: StoredRecord?

    var bytes: Int { record.map(QueryBudget.bytes) ?? 0 }
}

/// The part of a page in order that one zone contributes.
private struct SortedRows: Sendable {
    var rows: [SortedRow] = []
    /// Everything before this was found; nil if there is nothing more, or more than the page takes.
    var end: SortPosition?
}

// MARK: In an order

extension QueryRun {
    /// A page in order: the first rows of every zone after the position, merged.
    ///
    /// A zone whose budget ended early says how far it got; rows of other zones beyond that wait for the next page.
    mutating func sortedRows(
        _ zones: [UInt32], _ order: SortOrder, after start: SortPosition?, limit: Int
    ) async throws -> QueryRows {
        var all: [SortedRow] = []
        var end: SortPosition?
        for zone in zones.sorted() {
            // Each zone has a budget of its own, so that every page gets further.
            entriesRead = 0
            bytesRead = 0
            let found = try await sortedRows(zone, order, after: start, limit: limit + 1)
            all += found.rows
            if all.count > 2 * (limit + 1) {
                all.sort { order.precedes($0.position, $1.position) }
                all.removeSubrange((limit + 1)...)
            }
            if all.bytes > budget.bytesMax { all.forgetRecords() }
            if let stop = found.end, end.map({ order.precedes(stop, $0) }) ?? true { end = stop }
        }
        all.sort { order.precedes($0.position, $1.position) }
        if let end { all.removeAll { order.precedes(end, $0.position) } }
        let (rows, last) = try await rows(of: all.prefix(limit))
        if let last, all.count > limit || rows.count < min(limit, all.count) {
            return QueryRows(rows: rows, next: QueryPosition(.sorted(last)))
        }
        return QueryRows(rows: rows, next: end.map { QueryPosition(.sorted($0)) })
    }

    /// Returns the first rows of a page that the budget of an answer has space for, and the position of the last of them.
    private func rows(of page: ArraySlice<SortedRow>) async throws -> ([QueryRow], last: SortPosition?) {
        var rows: [QueryRow] = []
        var last: SortPosition?
        var bytes = 0
        for row in page {
            let zone = row.position.zone
            let read = row.record == nil ? try await view.records(zone: zone, names: [row.position.recordName]) : []
            guard let record = row.record ?? read.first ?? nil else { throw DamagedValue(.record) }
            bytes += QueryBudget.bytes(of: record)
            if last != nil, bytes > budget.bytesMax { break }
            rows.append(QueryRow(zone: zone, record: record))
            last = row.position
        }
        return (rows, last)
    }

    private mutating func sortedRows(
        _ zone: UInt32, _ order: SortOrder, after start: SortPosition?, limit: Int
    ) async throws -> SortedRows {
        if let few = try await fewHits(zone, order),
            let rows = try await sortedInMemory(few, zone: zone, in: order, after: start, limit: limit)
        {
            return rows
        }
        var source = SortedSource(plan, order.terms[0], zone: zone, after: start, isGrouped: order.terms.count > 1)
        var reader = RecordReader(view, zone: zone, damaged: damaged)
        var group = SortGroup(order: order, start: start, limit: limit, bytesMax: budget.bytesMax)
        while true {
            let candidates = try await source.next(in: view, &entriesRead)
            if candidates.isEmpty { break }
            var rest = candidates[...]
            while !rest.isEmpty {
                let batch = rest.prefix(min(reader.batchSize, limit))
                rest = rest.dropFirst(batch.count)
                let before = reader.bytesRead
                let records = try await reader.read(batch.map(\.recordName))
                bytesRead += reader.bytesRead - before
                for (candidate, record) in zip(batch, records) {
                    if group.ends(before: candidate) {
                        if group.isFull { return SortedRows(rows: group.rows) }
                        if isSpent, let end = group.end(zone: zone) { return SortedRows(rows: group.rows, end: end) }
                    }
                    group.enter(candidate)
                    if let record, try await belongs(record) {
                        group.add(try plan.position(of: record, zone: zone, in: order), record)
                    }
                }
            }
        }
        group.finish()
        return SortedRows(rows: group.rows)
    }

    /// The names that the conditions' own scan finds, if they are few: then sorting them beats walking the whole order.
    private mutating func fewHits(_ zone: UInt32, _ order: SortOrder) async throws -> Set<String>? {
        let scan = plan.scan
        if scan.kind == .extent && scan.rank == .extent { return nil }
        if scan.kind == .ordered && scan.fields.first == order.terms[0].field { return nil }
        var walk = IndexWalk(scan, zone: zone)
        var names: Set<String> = []
        while names.count <= budget.sortedInMemoryMax {
            let steps = try await walk.next(budget.sortedInMemoryMax + 1, in: view)
            if steps.isEmpty { return names }
            names.formUnion(steps.map(\.hit.recordName))
        }
        return nil
    }

    /// nil if the records are too large to be held at once.
    private mutating func sortedInMemory(
        _ names: Set<String>, zone: UInt32, in order: SortOrder, after start: SortPosition?, limit: Int
    ) async throws -> SortedRows? {
        var reader = RecordReader(view, zone: zone, damaged: damaged)
        var group = SortGroup(order: order, start: start, limit: limit, bytesMax: budget.bytesMax)
        var rest = names.sorted()[...]
        while !rest.isEmpty {
            let batch = rest.prefix(reader.batchSize)
            rest = rest.dropFirst(batch.count)
            for case let record? in try await reader.read(Array(batch)) where try await belongs(record) {
                group.add(try plan.position(of: record, zone: zone, in: order), record)
            }
            if reader.bytesRead > budget.bytesMax { return nil }
        }
        group.finish()
        return SortedRows(rows: group.rows)
    }
}

/// Puts records that share the first value of an order in order, and keeps no more of them than a page takes.
private struct SortGroup {
    let order: SortOrder
    let start: SortPosition?
    let limit: Int
    /// Beyond so many bytes, records are not kept.
    let bytesMax: Int
    private(set) var rows: [SortedRow] = []
    private var group: [SortedRow] = []
    private var bytes = 0
    private var last: SortedSource.Candidate?

    init(order: SortOrder, start: SortPosition?, limit: Int, bytesMax: Int) {
        self.order = order
        self.start = start
        self.limit = limit
        self.bytesMax = bytesMax
    }

    private var isGrouped: Bool { order.terms.count > 1 }

    var isFull: Bool { rows.count >= limit }

    /// Whether all records before the candidate are in order; if so, they are taken over.
    mutating func ends(before candidate: SortedSource.Candidate) -> Bool {
        guard let last else { return false }
        if isGrouped && last.value == candidate.value { return false }
        finish()
        return true
    }

    mutating func enter(_ candidate: SortedSource.Candidate) { last = candidate }

    mutating func add(_ position: SortPosition, _ record: StoredRecord) {
        if let start, !order.precedes(start, position) { return }
        group.append(SortedRow(position: position, record: record))
        bytes += QueryBudget.bytes(of: record)
        if bytes > bytesMax {
            rows.forgetRecords()
            group.forgetRecords()
            bytes = 0
        }
        if group.count >= 2 * limit + 64 { cut() }
    }

    mutating func finish() {
        cut()
        rows += group
        group.removeAll(keepingCapacity: true)
    }

    private mutating func cut() {
        if group.count > 1 { group.sort { order.precedes($0.position, $1.position) } }
        let room = max(0, limit - rows.count)
        if group.count > room { group.removeSubrange(room...) }
    }

    /// Returns the position up to which the order was followed; nil if no farther than the page before.
    func end(zone: UInt32) -> SortPosition? {
        guard let last else { return nil }
        let end = SortPosition(
            values: [last.value], recordName: isGrouped ? "" : last.recordName, zone: zone, isGroupEnd: isGrouped)
        if let start, !order.precedes(start, end) { return nil }
        return end
    }
}

extension [SortedRow] {
    /// The bytes of the records that the rows hold.
    fileprivate var bytes: Int { reduce(0) { $0 + $1.bytes } }

    /// Keeps the positions alone.
    fileprivate mutating func forgetRecords() {
        for index in indices { self[index].record = nil }
    }
}
