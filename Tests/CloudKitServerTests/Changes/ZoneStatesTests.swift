import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import Testing

/// The states that the devices of a zone's owner write for one another (docs/encryption.md, State of a zone).
@Suite(.timeLimit(.minutes(20))) struct ZoneStatesTests {
    private static let phone = String(repeating: "a1", count: 12)
    private static let laptop = String(repeating: "b2", count: 12)

    private func device(_ user: UserID = TestCloud.ada, _ kind: Caller.ClientKind = .native) -> Caller {
        Caller(user: user, surface: kind)
    }

    private func state(_ device: String, _ number: UInt64, _ bytes: [UInt8] = [1, 2, 3]) -> ZoneDeviceState {
        ZoneDeviceState(device: device, number: number, bytes: bytes)
    }

    private func page(
        _ test: TestCloud, _ states: ZoneStatesRequest?, zone: String = "Z", since token: String? = nil,
        limit: Int? = nil, by caller: Caller? = nil
    ) async throws -> ZoneChangesPage {
        let outcome = try await FetchZoneChanges(test.cloud).run(
            [
                ZoneChangesRequest(
                    zoneID: ZoneID(zoneName: zone), syncToken: token, resultsLimit: limit, states: states)
            ], in: TestCloud.address(.private), by: caller ?? device())[0]
        switch outcome {
        case .page(let page): return page
        case .failed(_, let failure): throw failure
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-TM-14 a zone keeps the newest state of each device, and gives those that a reader lacks`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let first = try #require(try await page(test, ZoneStatesRequest()).states)
            #expect(first.states.isEmpty && !first.forgetsDeletions && !first.incarnation.isEmpty)
            func keep(_ state: ZoneDeviceState) async throws -> [ZoneDeviceState] {
                let update = ZoneStateUpdate(incarnation: first.incarnation, state: state)
                return try await page(test, ZoneStatesRequest(update: update)).states?.states ?? []
            }
            #expect(try await keep(state(Self.phone, 5)) == [state(Self.phone, 5)])
            #expect(try await keep(state(Self.phone, 5, [9])) == [state(Self.phone, 5)])
            #expect(try await keep(state(Self.phone, 4, [9])) == [state(Self.phone, 5)])
            #expect(try await keep(state(Self.laptop, 1)).count == 2)
            #expect(try await keep(state(Self.phone, 6, [7])) == [state(Self.phone, 6, [7]), state(Self.laptop, 1)])
            let known = ZoneStatesRequest(known: [Self.phone: 6, Self.laptop: 0])
            #expect(try await page(test, known).states?.states == [state(Self.phone, 6, []), state(Self.laptop, 1)])
            // Others neither write nor read them.
            #expect(try await page(test, ZoneStatesRequest(), by: device(TestCloud.ada, .web)).states == nil)
            #expect(try await page(test, nil).states == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-TM-14 a state is kept with the records that it came with, or not at all`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let incarnation = try #require(try await page(test, ZoneStatesRequest()).states?.incarnation)
            func save(_ name: String, _ number: UInt64, in incarnation: String) async throws {
                var request = ModifyRecordsRequest(operations: [create(name)], zoneID: ZoneID(zoneName: "Z"))
                request.stateUpdate = ZoneStateUpdate(incarnation: incarnation, state: state(Self.phone, number))
                _ = try await ModifyRecords(test.cloud).run(
                    request, in: TestCloud.address(.private), by: device())
            }
            try await save("One", 1, in: incarnation)
            #expect(try await page(test, ZoneStatesRequest()).states?.states.map(\.number) == [1])
            try await save("Two", 2, in: "another")
            #expect(try await page(test, ZoneStatesRequest()).states?.states.map(\.number) == [1])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-TM-14 a zone that is made again has another incarnation and no states`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let first = try #require(try await page(test, ZoneStatesRequest()).states?.incarnation)
            let update = ZoneStatesRequest(
                update: ZoneStateUpdate(incarnation: first, state: state(Self.phone, 5)))
            #expect(try await page(test, update).states?.states.count == 1)
            _ = try await ModifyZones(test.cloud).run(
                [.delete(ZoneID(zoneName: "Z"))], in: TestCloud.address(.private), by: device())
            try await test.makeZone()
            let second = try #require(try await page(test, update).states)
            #expect(second.incarnation != first && second.states.isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-CHG-08 a feed from the beginning has the deletions if a device looks for them`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("One"), create("Two"), create("Three")])
            try await test.modify([delete("Two")])
            #expect(try await page(test, ZoneStatesRequest()).events.map(\.mark) == ["One", "Three"])
            let all = ZoneStatesRequest(reportsAllDeletions: true)
            let first = try await page(test, all, limit: 2)
            // States come with the last page only.
            #expect(first.moreComing && first.states == nil)
            let second = try await page(test, all, since: first.syncToken)
            #expect((first.events + second.events).map(\.mark) == ["One", "Three", "†Two"])
            #expect(second.states?.forgetsDeletions == false)
            test.time.advance(1000)
            try await test.compact(before: test.time.now)
            #expect(try await page(test, all).states?.forgetsDeletions == true)
            // Later pages are there although deletions after the first one were forgotten.
            let early = try await page(test, all, limit: 1)
            #expect(early.events.map(\.mark) == ["One"])
            #expect(try await page(test, all, since: early.syncToken).events.map(\.mark) == ["Three"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-TM-14 a zone keeps the states of a bounded number of devices`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let incarnation = try #require(try await page(test, ZoneStatesRequest()).states?.incarnation)
            var kept = 0
            for index in 0...ZoneDeviceState.devicesMax {
                let name = String(repeating: "0", count: 21) + String(100 + index)
                let update = ZoneStateUpdate(incarnation: incarnation, state: state(name, 1))
                kept = try await page(test, ZoneStatesRequest(update: update)).states?.states.count ?? 0
            }
            #expect(kept == ZoneDeviceState.devicesMax)
        }
    }
}
