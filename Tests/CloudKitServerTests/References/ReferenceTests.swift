import CloudKitModel
import CloudKitServer
import Testing

@Suite(.timeLimit(.minutes(20))) struct ReferenceTests {
    @Test(arguments: Engine.allCases)
    func `B-REF-02 plain references may dangle`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let saved = try await test.modify([create("R1", "Note", reference("to", to: "nowhere"))])[0].record
            #expect(saved != nil)
        }
    }

    @Test func `B-REF-01 references stay in their zone`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            func pointing(_ zone: String, _ owner: UserID) -> FieldChange {
                let json =
                    #"{"recordName":"T","action":"NONE","zoneID":{"zoneName":"\#(zone)","ownerRecordName":"\#(owner)"}}"#
                return .set(Field(name: "to", type: .reference, json: Array(json.utf8)))
            }
            let inside = try await test.modify([create("R1", "Note", pointing("Z", TestCloud.ada))])[0].record
            #expect(inside?.json("to")?.contains("zoneID") == false)
            let outside = try await test.modify([create("R2", "Note", pointing("Y", TestCloud.ada))])[0]
            #expect(outside.code == .badRequest)
            let foreign = try await test.modify([create("R2", "Note", pointing("Z", TestCloud.bob))])[0]
            #expect(foreign.code == .badRequest)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-REF-03 a parent must exist, B-BAT-09 the order of a batch does not matter`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let orphan = try await test.modify([create("C", parent: .set(recordName: "P"))])[0]
            #expect(orphan.code == .referenceViolation)
            let family = try await test.modify([create("C", parent: .set(recordName: "P")), create("P")])
            #expect(family.allSatisfy { $0.record != nil })
            let child = try await test.record("C")
            #expect(child?.parent == "P")
            let blocked = try await test.modify([delete("P")])[0]
            #expect(blocked.code == .referenceViolation)
            let gone = try await test.modify([delete("P"), delete("C")])
            #expect(gone.allSatisfy { $0.isDeleted })
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-REF-05 a child without its parent blocks no deletion`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("P"), create("C", parent: .set(recordName: "P"))])
            try await test.modify([save(.forceUpdate, "C", parent: .remove)])
            let outcome = try await test.modify([delete("P")])[0]
            #expect(outcome.isDeleted)
            let child = try await test.record("C")
            #expect(child?.parent == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-REF-08 a cascade is immediate in a custom zone and shows in its feed`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([
                create("A"), create("B", "Note", reference("owner", to: "A", .deleteSelf)),
                create("C", "Note", reference("owner", to: "B", .deleteSelf)), create("D"),
            ])
            let token = try await test.changes().syncToken
            let outcomes = try await test.modify([delete("A")])
            #expect(outcomes.count == 1)
            let page = try await test.changes(since: token)
            #expect(page.events.map(\.mark).sorted() == ["†A", "†B", "†C"])
            let left = try await test.lookup(["A", "B", "C", "D"])
            #expect(left.map { $0.record != nil } == [false, false, false, true])
        }
    }

    @Test func `work waits for nothing after the clock was set back behind a promise that was removed`() async throws {
        try await withCloud { test in
            let zone = "_defaultZone"
            // The last time is that of the first promise.
            for step: Int64 in [0, 7_200_000, -7_200_000] {
                test.time.advance(step)
                let (owner, owned) = ("A\(step)", "B\(step)")
                try await test.modify(
                    [create(owner), create(owned, "Note", reference("owner", to: owner, .deleteSelf))], zone: zone)
                try await test.modify([delete(owner)], zone: zone)
                while try await RunOutbox(test.cloud).run() {}
                #expect(try await test.lookup([owned], zone: zone)[0].code == .itemNotFound, "\(step)")
                test.time.advance(1_000_000)
                _ = try await RunOutbox(test.cloud).run()
                test.time.advance(-1_000_000)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-REF-08 a cascade comes later in the default zone`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            let zone = "_defaultZone"
            try await test.modify(
                [
                    create("A"), create("B", "Note", reference("owner", to: "A", .deleteSelf)),
                    create("C", "Note", reference("owner", to: "B", .deleteSelf)),
                ], zone: zone)
            try await test.modify([delete("A")], zone: zone)
            let still = try await test.record("B", zone: zone)
            #expect(still != nil)
            // Another process does the work.
            let worker = test.restarted()
            while try await RunOutbox(worker).run() {}
            let left = try await test.lookup(["A", "B", "C"], zone: zone)
            #expect(left.allSatisfy { $0.code == .itemNotFound })
            test.time.advance(1_000_000)
            let more = try await RunOutbox(worker).run()
            #expect(!more)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SAV-10 a new child or owned record changes the target's tag, B-CHG-16 but no feed`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let target = try #require(try await test.modify([create("P", "Note", text("a", "1"))])[0].record)
            var tag = target.changeTag
            let token = try await test.changes().syncToken
            try await test.modify([create("C", parent: .set(recordName: "P"))])
            var after = try #require(try await test.record("P"))
            #expect(after.changeTag != tag)
            #expect(after.fields == target.fields)
            tag = after.changeTag
            try await test.modify([create("D", "Note", reference("owner", to: "P", .deleteSelf))])
            after = try #require(try await test.record("P"))
            #expect(after.changeTag != tag)
            tag = after.changeTag
            try await test.modify([
                save(.forceUpdate, "D", text("b", "2")), create("E", "Note", reference("to", to: "P")),
            ])
            after = try #require(try await test.record("P"))
            #expect(after.changeTag == tag)
            let page = try await test.changes(since: token)
            #expect(page.events.map(\.mark) == ["C", "D", "E"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-LIM-07 a record has 750 owners at most, and any number of other references`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("T")])
            func add(_ names: Range<Int>, _ action: ReferenceValue.Action) async throws -> [RequestFailure.Code?] {
                try await test.modify(
                    names.map { create("\(action.rawValue)\($0)", "Note", reference("to", to: "T", action)) },
                    atomic: false, by: Caller(user: TestCloud.ada, surface: .native)
                ).map(\.code)
            }
            #expect(try await add(0..<400, .deleteSelf).allSatisfy { $0 == nil })
            let rest = try await add(400..<752, .deleteSelf)
            #expect(rest.prefix(350).allSatisfy { $0 == nil })
            #expect(rest.suffix(2) == [.sizeLimitExceeded, .sizeLimitExceeded])
            for start in [0, 400] { #expect(try await add(start..<start + 400, .none).allSatisfy { $0 == nil }) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `an owner that goes frees a place for another`(_ engine: Engine) async throws {
        var limits = Limits()
        limits.owningReferencesMax = 3
        try await withCloud(engine, limits: limits) { test in
            try await test.makeZone()
            func owned(_ name: String) -> RecordOperation {
                create(name, "Note", reference("owner", to: "T", .deleteSelf))
            }
            try await test.modify([create("T"), owned("A"), owned("B")])
            let outcomes = try await test.modify([owned("C"), owned("D"), create("E")], atomic: false)
            #expect(outcomes.map(\.code) == [nil, .sizeLimitExceeded, nil])
            #expect(
                outcomes[1].failure?.reason == "Limit exceeded for number of owning references to single record")
            try await test.modify([save(.forceUpdate, "A", reference("owner", to: "E", .deleteSelf)), delete("B")])
            let room = try await test.modify([owned("D"), owned("F")])
            #expect(room.allSatisfy { $0.record != nil })
            let plain = try await test.modify([create("G", "Note", reference("to", to: "T"))])[0].record
            #expect(plain != nil)
            try await test.modify([delete("T")])
            let gone = try await test.lookup(["A", "C", "D", "F"])
            #expect(gone.map { $0.record != nil } == [true, false, false, false])
        }
    }

    @Test func `a deletion that takes too much along is refused`() async throws {
        var limits = Limits()
        limits.cascadeMax = 5
        try await withCloud(limits: limits) { test in
            try await test.makeZone()
            try await test.modify([create("T")])
            try await test.modify((0..<8).map { create("H\($0)", "Note", reference("owner", to: "T", .deleteSelf)) })
            await expect(.sizeLimitExceeded) { try await test.modify([delete("T")]) }
            let still = try await test.record("T")
            #expect(still != nil)
        }
    }
}
