import OrderedStore

/// One request of a query: carries out a plan inside a transaction, within a budget.
///
/// The rows are those of the transaction: never behind a commit (B-QRY-20).
package struct QueryRun: Sendable {
    let plan: QueryPlan
    let view: ReadTransaction
    let budget: QueryBudget
    let isVisible: RecordVisibility?
    /// The damaged records that index entries named.
    package let damaged = DamagedRecords()
    /// Index entries and record bytes read so far.
    var entriesRead = 0
    var bytesRead = 0

    /// Creates a run of a plan.
    package init(
        _ plan: QueryPlan, in view: ReadTransaction, budget: QueryBudget = QueryBudget(),
        isVisible: RecordVisibility? = nil
    ) {
        self.plan = plan
        self.view = view
        self.budget = budget
        self.isVisible = isVisible
    }

    /// The next records of a query.
    ///
    /// - Parameters:
    ///   - zones: Numbers of the zones to ask. Without an order they are asked one after the other; an order goes across
    ///     all of them.
    ///   - position: Where the page before ended, from a run of the same plan.
    ///   - limit: At least 1.
    package mutating func rows(
        zones: [UInt32], after position: QueryPosition? = nil, limit: Int
    ) async throws -> QueryRows {
        if plan.scan.rank == .nothing { return QueryRows(rows: []) }
        switch (plan.order, position?.place) {
        case (let order?, .sorted(let start)): return try await sortedRows(zones, order, after: start, limit: limit)
        case (let order?, _): return try await sortedRows(zones, order, after: nil, limit: limit)
        case (nil, .entry(let zone, let entry)): return try await indexRows(zones, after: (zone, entry), limit)
        case (nil, _): return try await indexRows(zones, after: nil, limit)
        }
    }

    var isSpent: Bool { entriesRead >= budget.entriesMax || bytesRead >= budget.bytesMax }

    func belongs(_ record: StoredRecord) async throws -> Bool {
        guard try plan.holds(for: record) else { return false }
        return try await isVisible?(record, view) ?? true
    }
}

// MARK: In the order of the driving index

extension QueryRun {
    private mutating func indexRows(
        _ zones: [UInt32], after start: (zone: UInt32, entry: Bytes)?, _ limit: Int
    ) async throws -> QueryRows {
        var found = QueryRows(rows: [])
        for zone in zones.sorted() where zone >= start?.zone ?? 0 {
            let entry = start?.zone == zone ? start?.entry : nil
            if try await !addRows(of: zone, after: entry, to: &found, limit) { return found }
        }
        found.next = nil
        return found
    }

    /// Adds what one zone has; false if there is more than the page or the budget takes, `next` saying where.
    private mutating func addRows(
        of zone: UInt32, after start: Bytes?, to found: inout QueryRows, _ limit: Int
    ) async throws -> Bool {
        var bytesFound = found.rows.reduce(0) { $0 + QueryBudget.bytes(of: $1.record) }
        var walk = IndexWalk(plan.scan, zone: zone, after: start)
        var reader = RecordReader(view, zone: zone, damaged: damaged)
        // One more than fits shows whether there is more.
        var size = min(limit - found.rows.count + 1, QueryBudget.scanSize)
        while true {
            let hits = try await walk.next(size, in: view)
            if hits.isEmpty { return true }
            size = QueryBudget.scanSize
            entriesRead += hits.count
            var rest = hits[...]
            while !rest.isEmpty {
                let batch = rest.prefix(min(reader.batchSize, limit - found.rows.count + 1))
                rest = rest.dropFirst(batch.count)
                let before = reader.bytesRead
                let records = try await reader.read(batch.map(\.hit.recordName))
                bytesRead += reader.bytesRead - before
                for (hit, record) in zip(batch, records) {
                    if let record, try plan.scan.isFirst(hit.entry, of: record), try await belongs(record) {
                        let bytes = QueryBudget.bytes(of: record)
                        if found.rows.count == limit || (!found.rows.isEmpty && bytesFound + bytes > budget.bytesMax) {
                            return false
                        }
                        bytesFound += bytes
                        found.rows.append(QueryRow(zone: zone, record: record))
                    }
                    found.next = QueryPosition(.entry(zone: zone, hit.entry))
                }
                if isSpent { return false }
            }
        }
    }
}
