import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import Testing

@Suite(.timeLimit(.minutes(20))) struct ZoneDecisionTests {
    private let id = ZoneID(zoneName: "Z")

    private func held(_ state: ZoneHeader.State) -> ZoneHeader {
        var zone = ZoneHeader(name: "Z", number: 5, since: 0)
        zone.state = state
        return zone
    }

    private func creating(_ id: ZoneID, _ held: ZoneHeader?, count: Int = 0) -> ZoneDecision {
        ZoneDecision(creating: id, held: held, zoneCount: count, zonesMax: 1000)
    }

    @Test func `B-ZN-06 saving a zone that exists keeps it`() {
        #expect(creating(id, held(.live)) == .keep)
        #expect(creating(.default, .implicitDefault) == .keep)
        #expect(creating(id, held(.live), count: 1000) == .keep)
    }

    @Test func `B-ZN-11 saving a purged zone clears its state`() {
        for state in [ZoneHeader.State.deleted(.deleted), .purged, .keysReset] {
            #expect(creating(id, held(state)) == .create(.perRecord))
        }
        #expect(creating(id, nil) == .create(.perRecord))
        #expect(ZoneDecision(deleting: id, held: held(.purged)) == .acknowledge(.purged))
        #expect(ZoneDecision(deleting: id, held: held(.keysReset)) == .acknowledge(.encryptedDataReset))
    }

    @Test func `B-LIM-06 a thousand zones are enough`() {
        #expect(creating(id, nil, count: 999) == .create(.perRecord))
        #expect(creating(id, nil, count: 1000).code == .itemLimitExceeded)
    }

    @Test func `B-LIM-11 zone names are ASCII and do not begin with an underscore`() {
        for name in ["", "_own", "é", String(repeating: "n", count: 256)] {
            #expect(creating(ZoneID(zoneName: name), nil).code == .badRequest)
        }
    }

    @Test func `B-ZN-07 deleting a missing zone changes nothing, the default zone cannot be deleted`() {
        #expect(ZoneDecision(deleting: id, held: nil) == .isAbsent)
        #expect(ZoneDecision(deleting: id, held: held(.deleted(.deleted))) == .isAbsent)
        #expect(ZoneDecision(deleting: .default, held: .implicitDefault).code == .badRequest)
        #expect(ZoneDecision(deleting: id, held: held(.live)) == .delete)
    }
}

extension ZoneDecision {
    fileprivate var code: RequestFailure.Code? { if case .refuse(let failure) = self { failure.code } else { nil } }
}

@Suite(.timeLimit(.minutes(20))) struct ZoneTests {
    private func modify(_ test: TestCloud, _ operations: [ZoneOperation]) async throws -> [ZoneOutcome] {
        try await ModifyZones(test.cloud).run(
            operations, in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
    }

    @Test(arguments: Engine.allCases)
    func `B-ZN-04 a custom zone can do everything, the default zone nothing`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            let zone = try await test.makeZone()
            #expect(zone.capabilities == .custom)
            #expect(zone.id == ZoneID(zoneName: "Z", owner: TestCloud.ada))
            #expect(zone.syncToken != nil)
            let standard = try await test.makeZone("_defaultZone")
            #expect(standard.capabilities == [])
            #expect(standard.syncToken == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-ZN-16 a zone's encryption scope is fixed, and one of a single key is shared as a whole`(_ engine: Engine)
        async throws
    {
        try await withCloud(engine) { test in
            let id = ZoneID(zoneName: "Z")
            let zone = try #require(try await modify(test, [.create(id, .perZone)])[0].zone)
            #expect(zone.encryptionScope == .perZone && !zone.capabilities.contains(.sharing))
            #expect(zone.capabilities.contains(.zoneWideSharing))
            #expect(try await modify(test, [.create(id, .perZone)])[0].zone?.encryptionScope == .perZone)
            // A client that knows nothing of scopes says nothing, and means the usual one.
            #expect(try await modify(test, [.create(id)])[0].failure?.code == .serverRejected)
            #expect(try await modify(test, [.create(.default, .perZone)])[0].failure?.code == .serverRejected)
            try await test.modify([create("Root")])
            await expect(.serverRejected) { _ = try await test.shareTree("Root") }
            try await test.shareZone(with: [invite(TestCloud.bob)])
            #expect(try await modify(test, [.delete(id), .create(id)])[1].zone?.capabilities == .custom)
            #expect(try await modify(test, [.create(id, .perZone)])[0].failure?.code == .serverRejected)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-ZN-13 all zones of the private database, default zone included`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            let address = TestCloud.address(.private)
            let caller = Caller(user: TestCloud.ada)
            let empty = try await ListZones(test.cloud).run(in: address, by: caller)
            #expect(empty.map(\.id.zoneName) == ["_defaultZone"])
            _ = try await modify(test, ["B", "A", "C"].map { .create(ZoneID(zoneName: $0)) })
            _ = try await modify(test, [.delete(ZoneID(zoneName: "B"))])
            try await test.modify([create("R1")], zone: "_defaultZone")
            let zones = try await ListZones(test.cloud).run(in: address, by: caller)
            #expect(zones.map(\.id.zoneName) == ["_defaultZone", "A", "C"])
            let shared = try await ListZones(test.cloud).run(in: TestCloud.address(.shared), by: caller)
            #expect(shared.isEmpty)
            let found = try await LookupZones(test.cloud).run(
                ["A", "B", "_defaultZone", "nie"].map { ZoneID(zoneName: $0) }, in: address, by: caller)
            #expect(found.map { $0.zone != nil } == [true, false, true, false])
            #expect(found[1].failure?.code == .zoneNotFound)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-ZN-08 a deleted zone takes its records along, and leaves one entry in the database feed`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let token = try await test.databaseChanges().syncToken
            try await test.modify([create("R1"), create("R2", "Note", reference("o", to: "R1", .deleteSelf))])
            let outcomes = try await modify(test, [.delete(ZoneID(zoneName: "Z")), .delete(ZoneID(zoneName: "Z"))])
            #expect(outcomes[0].isDeleted)
            #expect(outcomes[1].isDeleted)
            await expect(.zoneNotFound) { _ = try await test.lookup(["R1"]) }
            let feed = try await test.databaseChanges(since: token)
            #expect(feed.events.map(\.mark) == ["†Z deleted"])
            try await test.makeZone()
            let found = try await test.lookup(["R1"])[0]
            #expect(found.code == .itemNotFound)
            let changes = try await test.changes()
            #expect(changes.events.isEmpty)
            let again = try await test.databaseChanges(since: feed.syncToken)
            #expect(again.events.map(\.mark) == ["Z"])
            // The references of the zone before are gone too.
            try await test.modify([create("R1"), create("R2")])
            try await test.modify([delete("R1")])
            let kept = try await test.record("R2")
            #expect(kept != nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-ZN-10 a purged zone says so until it is deleted or saved`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("R1")])
            let token = try await test.databaseChanges().syncToken
            try await EndZone(test.cloud).purge("Z", of: TestCloud.ada, in: TestCloud.container, .development)
            let refused = await failure { try await test.modify([create("R2")]) }
            #expect(refused?.code == .zonePurged)
            #expect(refused?.reason == "Zone was purged by user")
            await expect(.zonePurged) { _ = try await test.changes() }
            let feed = try await test.databaseChanges(since: token)
            #expect(feed.events.map(\.mark) == ["†Z purged"])
            let acknowledged = try await modify(test, [.delete(ZoneID(zoneName: "Z"))])[0]
            #expect(acknowledged.isDeleted)
            await expect(.zoneNotFound) { _ = try await test.changes() }
            // A device that comes later still learns why.
            let later = try await test.databaseChanges(since: token)
            #expect(later.events.map(\.mark) == ["†Z purged"])
            try await test.makeZone()
            let fresh = try await test.changes()
            #expect(fresh.events.isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-ZN-12 a zone whose keys were lost is missing, with a reason`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let token = try await test.databaseChanges().syncToken
            try await EndZone(test.cloud).resetKeys(
                ofZone: "Z", of: TestCloud.ada, in: TestCloud.container, .development)
            await expect(.zoneKeysReset) { try await test.modify([create("R2")]) }
            let feed = try await test.databaseChanges(since: token)
            #expect(feed.events.map(\.mark) == ["†Z encryptedDataReset"])
            try await test.makeZone()
            let saved = try await test.modify([create("R2")])[0].record
            #expect(saved != nil)
        }
    }

    @Test func `B-LIM-06 a user has 1,000 zones in a container, and another user's do not count`() async throws {
        try await withCloud { test in
            let names = (0..<1001).map { ZoneID(zoneName: "Z\($0)") }
            for start in stride(from: 0, to: 1000, by: 200) {
                let outcomes = try await modify(test, names[start..<start + 200].map { .create($0) })
                #expect(outcomes.allSatisfy { $0.zone != nil })
            }
            let refused = try await modify(test, [.create(names[1000])])[0].failure
            #expect(refused?.code == .itemLimitExceeded)
            try await test.makeZone("Z1000", of: TestCloud.bob)
            let next = try await modify(test, [.delete(names[0]), .create(names[1000])])
            #expect(next[1].zone != nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an operator's pages of zones name the default zone once, stored or not`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            for name in ["A", "B", "C"] { try await test.makeZone(name) }
            let inspection = InspectDatabases(test.cloud, TestCloud.container, .development)
            func pages(of limit: Int) async throws -> [[String]] {
                var pages: [[String]] = []
                repeat {
                    let zones = try await inspection.zones(of: TestCloud.ada, after: pages.last?.last, limit: limit)
                    pages.append(zones.map(\.name))
                } while pages.last?.isEmpty == false && pages.count < 10
                return pages
            }
            #expect(try await pages(of: 10) == [["_defaultZone", "A", "B", "C"], []])
            #expect(try await inspection.zones(of: TestCloud.ada, after: "A", limit: 10).map(\.name) == ["B", "C"])
            #expect(try await inspection.zones(of: TestCloud.ada, after: nil, limit: 2).map(\.name).count == 2)
            // Once something was saved in it, it has its place among the others.
            try await test.modify([create("R")], zone: ZoneID.defaultZoneName)
            #expect(try await pages(of: 2) == [["A", "B"], ["C", "_defaultZone"], []])
            let stored = try await inspection.zones(of: TestCloud.ada, after: "C", limit: 1)
            #expect(stored.map(\.recordCount) == [1])
        }
    }

    @Test(arguments: Engine.allCases)
    func `zones are counted, and deleting frees a place`(_ engine: Engine) async throws {
        var limits = Limits()
        limits.zonesMax = 2
        try await withCloud(engine, limits: limits) { test in
            let zones = ["A", "B", "C"].map { ZoneID(zoneName: $0) }
            let outcomes = try await modify(test, zones.map { .create($0) })
            #expect(outcomes.map { $0.zone != nil } == [true, true, false])
            let next = try await modify(test, [.delete(zones[0]), .create(zones[2])])
            #expect(next[1].zone != nil)
        }
    }
}
