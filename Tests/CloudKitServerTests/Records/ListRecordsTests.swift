import CloudKitModel
import CloudKitServer
import Testing

/// The list of a zone's records, which needs no index and no feed.
@Suite(.timeLimit(.minutes(20))) struct ListRecordsTests {
    private func page(
        _ zone: String = ZoneID.defaultZoneName, limit: Int? = nil, after marker: String? = nil,
        in scope: DatabaseScope = .private, by user: UserID? = TestCloud.ada, _ test: TestCloud
    ) async throws -> QueryPage {
        try await ListRecords(test.cloud).run(
            ListRecordsRequest(zoneID: ZoneID(zoneName: zone), resultsLimit: limit, continuationMarker: marker),
            in: TestCloud.address(scope), by: Caller(user: user))
    }

    /// All records, and the sizes of the pages.
    private func listed(
        zone: String = ZoneID.defaultZoneName, limit: Int? = nil, in scope: DatabaseScope = .private,
        by user: UserID? = TestCloud.ada, _ test: TestCloud
    ) async throws -> (names: [String], pages: [Int]) {
        var names: [String] = []
        var pages: [Int] = []
        var marker: String?
        repeat {
            let page = try await page(zone, limit: limit, after: marker, in: scope, by: user, test)
            names += page.records.map(\.id.recordName)
            pages.append(page.records.count)
            marker = page.continuationMarker
        } while marker != nil
        return (names, pages)
    }

    @Test(arguments: Engine.allCases)
    func `the default zone and a custom one are listed page by page, without tombstones`(_ engine: Engine) async throws
    {
        try await withCloud(engine) { test in
            try await test.makeZone()
            for zone in [ZoneID.defaultZoneName, "Z"] {
                for name in ["c", "a", "e", "b", "d"] {
                    _ = try await test.modify([create(name, "Note", text("title", name))], zone: zone)
                }
                _ = try await test.modify([save(.forceDelete, "c", nil)], zone: zone)
                let (names, pages) = try await listed(zone: zone, limit: 2, test)
                #expect(names == ["a", "b", "d", "e"])
                #expect(pages == [2, 2, 0] || pages == [2, 2])
                let one = try await page(zone, test)
                #expect(one.continuationMarker == nil && one.records.first?.fields.map(\.name) == ["title"])
            }
        }
    }

    @Test func `a zone with more records than are read at once is listed as a whole`() async throws {
        try await withCloud { test in
            for start in stride(from: 0, to: 250, by: 50) {
                _ = try await test.modify(
                    (start..<start + 50).map { create("n\(1000 + $0)") }, zone: ZoneID.defaultZoneName)
            }
            let (names, pages) = try await listed(test)
            #expect(names.count == 250 && Set(names).count == 250 && names == names.sorted())
            #expect(pages.first == 100)
        }
    }

    @Test func `in the public database a person lists what they created`() async throws {
        try await withCloud { test in
            for (name, user) in [("a", TestCloud.ada), ("b", TestCloud.bob), ("c", TestCloud.ada)] {
                _ = try await test.modify(
                    [create(name)], zone: ZoneID.defaultZoneName, in: .public, by: Caller(user: user))
            }
            #expect(try await listed(in: .public, test).names == ["a", "c"])
            #expect(try await listed(in: .public, by: TestCloud.bob, test).names == ["b"])
            let signedOut = await #expect(throws: RequestFailure.self) {
                try await page(in: .public, by: nil, test)
            }
            #expect(signedOut?.code == .authenticationRequired)
        }
    }

    @Test func `a marker is for one caller, zone and database, and the shared database has no list`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            for name in ["a", "b"] {
                _ = try await test.modify([create(name)], zone: ZoneID.defaultZoneName)
            }
            let marker = try #require(try await page(limit: 1, test).continuationMarker)
            for attempt in 0..<4 {
                let failure = await #expect(throws: RequestFailure.self) {
                    switch attempt {
                    case 0: try await page("Z", after: marker, test)
                    case 1: try await page(after: marker, by: TestCloud.bob, test)
                    case 2: try await page(after: marker, in: .public, test)
                    default: try await page(after: "a", test)
                    }
                }
                #expect(failure?.code == .badRequest)
            }
            let shared = await #expect(throws: RequestFailure.self) { try await page(in: .shared, test) }
            #expect(shared?.code == .badRequest)
            let missing = await #expect(throws: RequestFailure.self) { try await page("none", test) }
            #expect(missing?.code == .zoneNotFound)
        }
    }
}
