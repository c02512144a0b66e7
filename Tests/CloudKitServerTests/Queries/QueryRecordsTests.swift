import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema
import Testing

@testable import CloudKitServer

@Suite(.timeLimit(.minutes(20))) struct QueryRecordsTests {
    private let address = TestCloud.address(.private)
    private let ada = Caller(user: TestCloud.ada)

    private func plays(_ comparator: QueryFilter.Comparator, _ value: Int64) -> QueryFilter {
        QueryFilter(key: .field("plays"), comparator: comparator, value: .int64(value))
    }

    private func request(
        _ filters: [QueryFilter] = [], sorts: [QuerySort] = [], zone: String? = "Z", zoneWide: Bool = false,
        limit: Int? = nil, marker: String? = nil, keys: [String]? = nil
    ) -> QueryRecordsRequest {
        QueryRecordsRequest(
            query: Query(recordType: "Note", filters: filters, sorts: sorts),
            zoneID: zone.map { ZoneID(zoneName: $0) }, zoneWide: zoneWide, resultsLimit: limit,
            continuationMarker: marker, desiredKeys: keys)
    }

    /// Two public records: "a" by Ada, "b" by Bob.
    private func fillPublic(_ test: TestCloud) async throws {
        try await test.modify([create("a", "Note", number("plays", 1))], zone: "_defaultZone", in: .public)
        try await test.modify(
            [create("b", "Note", number("plays", 1))], zone: "_defaultZone", in: .public,
            by: Caller(user: TestCloud.bob))
    }

    private func fill(_ test: TestCloud, zone: String = "Z", count: Int = 5) async throws {
        if zone != ZoneID.defaultZoneName { try await test.makeZone(zone) }
        let prefix = zone == ZoneID.defaultZoneName ? "D" : zone
        for start in stride(from: 0, to: count, by: 200) {
            try await test.modify(
                (start..<min(count, start + 200)).map { create("\(prefix)\(1000 + $0)", "Note", number("plays", $0)) },
                zone: zone)
        }
    }

    private func names(_ page: QueryPage) -> [String] { page.records.map(\.id.recordName) }

    @Test(arguments: Engine.allCases)
    func `B-QRY-01 a query finds records of one type in one zone`(engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await fill(test)
            try await fill(test, zone: "Other")
            try await test.modify([create("task", "Task", number("plays", 3))])
            let page = try await QueryRecords(test.cloud).run(request([plays(.greaterThan, 2)]), in: address, by: ada)
            #expect(names(page) == ["Z1003", "Z1004"])
            #expect(page.continuationMarker == nil)
            #expect(page.records.first?.id.zoneID == ZoneID(zoneName: "Z", owner: TestCloud.ada))
            try await test.modify([delete("Z1003")])
            let rest = try await QueryRecords(test.cloud).run(request([plays(.greaterThan, 2)]), in: address, by: ada)
            #expect(names(rest) == ["Z1004"])
        }
    }

    @Test func `B-QRY-01 a zone-wide query asks all zones and keeps its order across them`() async throws {
        try await withCloud { test in
            try await fill(test, zone: ZoneID.defaultZoneName)
            try await fill(test, zone: "A")
            try await fill(test, zone: "B")
            try await fill(test, zone: "Gone")
            _ = try await ModifyZones(test.cloud).run([.delete(ZoneID(zoneName: "Gone"))], in: address, by: ada)
            var found: [String] = []
            var marker: String?
            repeat {
                let page = try await QueryRecords(test.cloud).run(
                    request(
                        [plays(.greaterThan, 2)], sorts: [QuerySort(key: .field("plays"), ascending: false)], zone: nil,
                        zoneWide: true, limit: 2, marker: marker), in: address, by: ada)
                found += page.records.map(\.id.zoneID.zoneName)
                marker = page.continuationMarker
            } while marker != nil
            #expect(found == ["_defaultZone", "B", "A", "_defaultZone", "B", "A"])
            let single = try await QueryRecords(test.cloud).run(
                request([plays(.greaterThan, 3)], zone: nil), in: address, by: ada)
            #expect(names(single) == ["D1004"])
        }
    }

    @Test func `B-QRY-01 in the shared database a query needs a zone`() async throws {
        try await withCloud { test in
            await expect(.badRequest) {
                _ = try await QueryRecords(test.cloud).run(
                    request(zone: nil, zoneWide: true), in: TestCloud.address(.shared), by: ada)
            }
        }
    }

    @Test func `B-QRY-19 the server decides the page size, up to the caller's maximum`() async throws {
        try await withCloud { test in
            try await fill(test, count: 450)
            func count(_ limit: Int?, _ surface: Caller.ClientKind) async throws -> Int {
                try await QueryRecords(test.cloud).run(
                    request([plays(.greaterThanOrEquals, 0)], limit: limit), in: address,
                    by: Caller(user: TestCloud.ada, surface: surface)
                ).records.count
            }
            #expect(try await count(nil, .web) == 100)
            #expect(try await count(0, .native) == 100)
            #expect(try await count(1000, .web) == 200)
            #expect(try await count(1000, .native) == 400)
        }
    }

    @Test func `B-QRY-18 a marker goes on after the last record, for its own query and caller`() async throws {
        try await withCloud { test in
            try await fill(test)
            try await test.makeZone("Z", of: TestCloud.bob)
            let asked = request([plays(.greaterThanOrEquals, 0)], limit: 3)
            let first = try await QueryRecords(test.cloud).run(asked, in: address, by: ada)
            let marker = try #require(first.continuationMarker)
            var next = asked
            next.continuationMarker = marker
            next.resultsLimit = 50
            next.desiredKeys = []
            let second = try await QueryRecords(test.cloud).run(next, in: address, by: ada)
            #expect(names(second) == ["Z1003", "Z1004"])
            #expect(second.records.flatMap(\.fields).isEmpty)

            var other = next
            other.query.filters = [plays(.greaterThanOrEquals, 1)]
            await expect(.badRequest) { _ = try await QueryRecords(test.cloud).run(other, in: address, by: ada) }
            await expect(.badRequest) {
                _ = try await QueryRecords(test.cloud).run(next, in: address, by: Caller(user: TestCloud.bob))
            }
            for text in ["x", "AAAA", String(marker.dropLast(4)), "B" + marker.dropFirst(), marker + "AAAA"] {
                var damaged = next
                damaged.continuationMarker = text
                await expect(.badRequest) { [damaged] in
                    _ = try await QueryRecords(test.cloud).run(damaged, in: address, by: ada)
                }
            }
        }
    }

    @Test func `B-QRY-15 without filters the record name has to be queryable`() async throws {
        try await withCloud { test in
            try await fill(test)
            let refused = await failure { _ = try await QueryRecords(test.cloud).run(request(), in: address, by: ada) }
            #expect(refused?.code == .indexMissing)
            #expect(refused?.reason == "Field 'recordName' is not marked queryable")
            try await SetIndex(test.cloud).run(
                .queryable, on: .system(.recordName), ofType: "Note", in: TestCloud.container, .development)
            #expect(try await QueryRecords(test.cloud).run(request(), in: address, by: ada).records.count == 5)
        }
    }

    @Test func `B-QRY-16 an unknown type is not found, an unknown zone neither`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            await expect(.typeNotFound) { _ = try await QueryRecords(test.cloud).run(request(), in: address, by: ada) }
            try await fill(test, zone: "Y")
            await expect(.zoneNotFound) {
                _ = try await QueryRecords(test.cloud).run(
                    request([plays(.equals, 1)], zone: "X"), in: address, by: ada)
            }
        }
    }

    @Test func `B-QRY-13 records are found by their creator, and the caller by its own name`() async throws {
        try await withCloud { test in
            let open = TestCloud.address(.public)
            try await fillPublic(test)
            try await SetIndex(test.cloud).run(
                .queryable, on: .system(.createdUserRecordName), ofType: "Note", in: TestCloud.container, .development)
            let mine = QueryFilter(
                key: .system(.createdUserRecordName), comparator: .equals,
                value: .reference(ReferenceValue(recordName: UserID.caller.recordName)))
            let found = try await QueryRecords(test.cloud).run(
                request([mine], zone: "_defaultZone"), in: open, by: Caller(user: TestCloud.bob))
            #expect(names(found) == ["b"])
        }
    }

    @Test func `B-DB-07 in the public database a query finds the records that its caller may read`() async throws {
        try await withCloud { test in
            let open = TestCloud.address(.public)
            try await fillPublic(test)
            let all = request([plays(.equals, 1)], zone: nil)
            let everything = try await QueryRecords(test.cloud).run(all, in: open, by: .anonymous)
            #expect(names(everything) == ["a", "b"])
            try await SetGrants(test.cloud).run(
                [Grant(.read, to: Grant.creator)], ofType: "Note", in: TestCloud.container, .development)
            let own = try await QueryRecords(test.cloud).run(all, in: open, by: ada)
            #expect(names(own) == ["a"])
            await expect(.accessDenied) { _ = try await QueryRecords(test.cloud).run(all, in: open, by: .anonymous) }
        }
    }

    @Test func `B-QRY-18 a marker of the public database stays valid when its user signs in or out`() async throws {
        try await withCloud { test in
            let open = TestCloud.address(.public)
            try await fillPublic(test)
            let asked = request([plays(.equals, 1)], zone: nil, limit: 1)
            let first = try await QueryRecords(test.cloud).run(asked, in: open, by: ada)
            #expect(names(first) == ["a"])
            var next = asked
            next.continuationMarker = first.continuationMarker
            #expect(names(try await QueryRecords(test.cloud).run(next, in: open, by: .anonymous)) == ["b"])
            next.query.filters.append(plays(.greaterThan, 0))
            await expect(.badRequest) { [next] in _ = try await QueryRecords(test.cloud).run(next, in: open, by: ada) }
        }
    }

    @Test func `B-SCH-07 an index added later covers older records`() async throws {
        try await withCloud { test in
            try await fill(test)
            try await SetIndex(test.cloud).run(
                [], on: .field("plays"), ofType: "Note", in: TestCloud.container, .development)
            await expect(.indexMissing) {
                _ = try await QueryRecords(test.cloud).run(request([plays(.equals, 1)]), in: address, by: ada)
            }
            try await test.modify([save(.forceUpdate, "Z1001", number("plays", 70)), delete("Z1002")])
            try await SetIndex(test.cloud).run(
                [.queryable, .sortable], on: .field("plays"), ofType: "Note", in: TestCloud.container, .development)
            let page = try await QueryRecords(test.cloud).run(
                request([plays(.greaterThan, 0)], sorts: [QuerySort(key: .field("plays"))]), in: address, by: ada)
            #expect(names(page) == ["Z1003", "Z1004", "Z1001"])
        }
    }

    @Test func `B-SCH-01 records from before a field existed stay in an order by it`() async throws {
        try await withCloud { test in
            try await fill(test, count: 2)
            try await SetIndex(test.cloud).run(
                .queryable, on: .system(.recordName), ofType: "Note", in: TestCloud.container, .development)
            try await test.modify([create("new", "Note", number("plays", 9), number("stars", 1))])
            let page = try await QueryRecords(test.cloud).run(
                request(sorts: [QuerySort(key: .field("stars"))]), in: address, by: ada)
            #expect(names(page) == ["Z1000", "Z1001", "new"])
            let schema = try await test.cloud.schema(TestCloud.container, .development)
            #expect(schema["Note"]?.fields["stars"]?.building == [])
        }
    }

    @Test func `B-SCH-07 a build that was interrupted is completed when the cloud starts again`() async throws {
        try await withCloud { test in
            try await fill(test)
            let partition = StoragePartition.schema(TestCloud.container, .development)
            _ = try await test.cloud.schemas.change(partition) { schema in
                schema.types["Note"]?.fields["plays"]?.building = .sortable
                return ["Note"]
            }
            let sorted = request([plays(.greaterThan, 0)], sorts: [QuerySort(key: .field("plays"))])
            await expect(.indexMissing) { _ = try await QueryRecords(test.cloud).run(sorted, in: address, by: ada) }
            let again = test.restarted()
            try await FinishIndexBuilds(again).run()
            #expect(try await !QueryRecords(again).run(sorted, in: address, by: ada).records.isEmpty)
        }
    }
}
