import CloudKitModel
import CloudKitServer
import Testing

/// The bytes of records in one answer, and those that one batch of saves may concern.
@Suite(.timeLimit(.minutes(20))) struct AnswerAllowanceTests {
    private static let ada = Caller(user: TestCloud.ada, surface: .native)
    /// Of the JSON of each record's field.
    private static let recordBytes = 500_000

    /// Saves large records with a number and a group, two at a time.
    private func fill(_ test: TestCloud, zone: String = "Z", count: Int = 20) async throws {
        try await test.makeZone(zone)
        for number in stride(from: 0, to: count, by: 2) {
            try await test.modify(
                (number..<(number + 2)).map { number in
                    RecordOperation(
                        .create,
                        RecordChange(
                            recordName: "\(zone)\(100 + number)", recordType: "Large",
                            fields: [
                                .set(Field(name: "data", type: .bytes, json: Self.data)),
                                self.number("group", number % 2), self.number("n", number),
                            ]))
                }, zone: zone)
        }
    }

    private static let data = Array("\"".utf8) + [UInt8](repeating: 0x41, count: recordBytes) + Array("\"".utf8)

    private func number(_ name: String, _ value: Int) -> FieldChange {
        .set(Field(name: name, type: .int64, json: Array("\(value)".utf8)))
    }

    private func bytes(_ records: [Record]) -> Int {
        records.reduce(0) { $0 + $1.fields.reduce(0) { $0 + $1.json.count } }
    }

    @Test func `B-LIM-17 a fetch by name answers what fits, and the rest can be fetched at once`() async throws {
        try await withCloud { test in
            try await fill(test)
            var missing = (0..<20).map { "Z\(100 + $0)" } + ["none"]
            var found: [String] = []
            for _ in 0..<4 where !missing.isEmpty {
                let outcomes = try await test.lookup(missing)
                let records = outcomes.compactMap(\.record)
                #expect(!records.isEmpty || outcomes.map(\.code) == [.itemNotFound])
                #expect(bytes(records) <= test.cloud.limits.answerBytesMax)
                found += records.map(\.id.recordName)
                let rest = outcomes.filter { $0.code == .tryAgainLater }
                #expect(rest.allSatisfy { $0.failure?.retryAfter == 0 })
                missing = rest.compactMap { if case .failed(let name, _) = $0 { name } else { nil } }
            }
            #expect(missing.isEmpty)
            #expect(found == (0..<20).map { "Z\(100 + $0)" })
        }
    }

    @Test func `B-LIM-17 a few fields of large records fit into one answer`() async throws {
        try await withCloud { test in
            try await fill(test)
            let outcomes = try await test.lookup((0..<20).map { "Z\(100 + $0)" }, desiredKeys: ["n"])
            #expect(outcomes.compactMap(\.record).count == 20)
        }
    }

    @Test(arguments: [
        [], [QuerySort(key: .field("n"), ascending: false)],
        [QuerySort(key: .field("group"), ascending: true), QuerySort(key: .field("n"), ascending: false)],
    ])
    func `B-LIM-17 a query ends its page early and goes on with a marker`(_ sorts: [QuerySort]) async throws {
        try await withCloud { test in
            try await fill(test)
            try await fill(test, zone: "Y", count: 4)
            var query = Query(recordType: "Large")
            query.sorts = sorts
            query.filters = [QueryFilter(key: .field("n"), comparator: .greaterThanOrEquals, value: .int64(0))]
            var found: [Int] = []
            var names: Set<String> = []
            var marker: String?
            var pages = 0
            repeat {
                let page = try await QueryRecords(test.cloud).run(
                    QueryRecordsRequest(
                        query: query, zoneID: nil, zoneWide: true, resultsLimit: 400, continuationMarker: marker),
                    in: TestCloud.address(.private), by: Self.ada)
                #expect(bytes(page.records) <= test.cloud.limits.answerBytesMax)
                for record in page.records {
                    names.insert(record.id.recordName)
                    let group = record.json("group").flatMap { Int($0) } ?? 0
                    found.append(1000 * group - (record.json("n").flatMap { Int($0) } ?? 0))
                }
                marker = page.continuationMarker
                pages += 1
            } while marker != nil && pages < 20
            #expect(names.count == 24)
            #expect(found.count == 24)
            #expect(pages > 2)
            if sorts.count == 2 { #expect(found == found.sorted()) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-LIM-18 a batch that concerns too many bytes of stored records is to be divided`(_ engine: Engine)
        async throws
    {
        var limits = Limits()
        limits.batchHeldBytesMax = 2_000_000
        try await withCloud(engine, limits: limits) { test in
            try await fill(test, count: 6)
            let changes = (0..<6).map { save(.forceUpdate, "Z\(100 + $0)", "Large", number("n", 1)) }
            let failure = await #expect(throws: RequestFailure.self) { try await test.modify(changes) }
            #expect(failure?.code == .sizeLimitExceeded)
            let half = try await test.modify(Array(changes.prefix(3)))
            #expect(half.allSatisfy { $0.record != nil })
        }
    }
}
