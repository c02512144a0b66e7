import CloudKitModel
import CloudKitServer
import Testing

/// The index entries that one batch may change.
@Suite(.timeLimit(.minutes(20))) struct IndexEntryLimitTests {
    /// A text of so many different words.
    private func words(_ range: Range<Int>) -> String {
        range.map { "w" + String($0, radix: 36) }.joined(separator: " ")
    }

    private func found(_ word: String, _ test: TestCloud) async throws -> [String] {
        var query = Query(recordType: "Note")
        query.filters = [QueryFilter(key: .anySearchable, comparator: .containsAnyTokens, value: .string(word))]
        let page = try await QueryRecords(test.cloud).run(
            QueryRecordsRequest(query: query, zoneID: ZoneID(zoneName: "Z")), in: TestCloud.address(.private),
            by: Caller(user: TestCloud.ada))
        return page.records.map(\.id.recordName)
    }

    @Test func `B-LIM-18 of 260,000 words in two texts the first 10,000 of each are found`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let halves = [words(0..<130_000), words(130_000..<260_000)]
            for (number, half) in halves.enumerated() {
                try await test.modify([create("R\(number)", "Note", text("body", half))])
            }
            #expect(try await found("w" + String(9999, radix: 36), test) == ["R0"])
            // One of the words before is "was", which has no entry.
            #expect(try await found("w" + String(10_001, radix: 36), test) == [])
            #expect(try await found("w" + String(130_000, radix: 36), test) == ["R1"])
        }
    }

    @Test func `B-LIM-18 a batch of more index entries is refused, and its halves go through`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let notes = (0..<4).map { create("N\($0)", "Note", text("body", words(($0 * 9000)..<($0 * 9000 + 9000)))) }
            let failure = await #expect(throws: RequestFailure.self) { try await test.modify(notes) }
            #expect(failure?.code == .sizeLimitExceeded)
            for half in [notes.prefix(2), notes.suffix(2)] {
                let failure = await #expect(throws: RequestFailure.self) { try await test.modify(Array(half)) }
                #expect(failure?.code == .sizeLimitExceeded)
                for note in half { try await test.modify([note]) }
            }
            #expect(try await found("w" + String(18_001, radix: 36), test) == ["N2"])
        }
    }

    @Test func `B-LIM-18 long lists count their elements`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            func list(_ count: Int) -> FieldChange {
                .set(
                    Field(
                        name: "list", type: FieldType(.int64, isList: true),
                        json: Array(("[" + (0..<count).map(String.init).joined(separator: ",") + "]").utf8)))
            }
            let failure = await #expect(throws: RequestFailure.self) {
                try await test.modify([create("R1", "Note", list(50_000))])
            }
            #expect(failure?.code == .sizeLimitExceeded)
            #expect(try await test.modify([create("R1", "Note", list(10_000))])[0].record != nil)
        }
    }

    @Test func `B-LIM-18 deletions count the entries that they remove`() async throws {
        var limits = Limits()
        limits.indexEntriesMax = 1000
        try await withCloud(limits: limits) { test in
            try await test.makeZone()
            for number in 0..<4 {
                try await test.modify([create("R\(number)", "Note", text("body", words(0..<900)))])
            }
            let failure = await #expect(throws: RequestFailure.self) {
                try await test.modify((0..<4).map { delete("R\($0)") })
            }
            #expect(failure?.code == .sizeLimitExceeded)
            try await test.modify([delete("R0"), delete("R1")])
            #expect(try await found("w1", test) == ["R2", "R3"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `words that were found before the transaction are those of the index`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("R1", "Note", text("body", words(0..<300)))])
            #expect(try await found("w5", test) == ["R1"])
            try await test.modify([save(.forceUpdate, "R1", text("body", words(200..<500)))])
            #expect(try await found("w5", test).isEmpty)
            #expect(try await found("w" + String(250, radix: 36), test) == ["R1"])
            #expect(try await found("w" + String(499, radix: 36), test) == ["R1"])
            try await test.modify([save(.forceReplace, "R1", text("body", words(600..<900)))])
            #expect(try await found("w" + String(250, radix: 36), test).isEmpty)
            #expect(try await found("w" + String(899, radix: 36), test) == ["R1"])
            try await test.modify([delete("R1")])
            #expect(try await found("w" + String(899, radix: 36), test).isEmpty)
        }
    }
}
