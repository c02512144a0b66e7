import CloudKitModel
import CloudKitServer
import Testing

@Suite(.timeLimit(.minutes(20))) struct BatchTests {
    @Test(arguments: Engine.allCases)
    func `B-BAT-02 one failure keeps the whole batch of a custom zone from happening`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("R1"), create("R2")])
            let before = try await test.changes()
            let outcomes = try await test.modify([create("R0"), create("R1"), delete("R2"), create("R3")])
            #expect(outcomes.map(\.code) == [.atomicFailure, .recordExists, .atomicFailure, .atomicFailure])
            #expect(
                outcomes[0].failure?.reason
                    == "Record R0 will not be saved because of previous error in atomic zone")
            let after = try await test.changes()
            #expect(after.events == before.events)
            #expect(after.syncToken == before.syncToken)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-BAT-01 items succeed one by one when the request says so`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("R1")])
            let outcomes = try await test.modify([create("R0"), create("R1"), create("R2")], atomic: false)
            #expect(outcomes.map { $0.record != nil } == [true, false, true])
            #expect(try await test.record("R2") != nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-BAT-04 the default zone and the public database ignore atomicity`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            for scope in [DatabaseScope.private, .public] {
                try await test.modify([create("R1")], zone: "_defaultZone", in: scope)
                let outcomes = try await test.modify(
                    [create("R0"), create("R1"), create("R2")], zone: "_defaultZone", atomic: true, in: scope)
                #expect(outcomes.map(\.code) == [nil, .recordExists, nil])
            }
        }
    }

    @Test func `B-BAT-07 a record saved twice refuses the request, B-BAT-08 so does saving and deleting it`()
        async throws
    {
        try await withCloud { test in
            try await test.makeZone()
            let twice = await failure { try await test.modify([create("R1"), save(.forceUpdate, "R1")]) }
            #expect(twice?.code == .badRequest)
            #expect(twice?.reason == "You can't save the same record twice")
            let both = await failure { try await test.modify([create("R1"), delete("R1")]) }
            #expect(both?.reason == "You can't save and delete the same record in a single operation")
            let deleted = try await test.lookup(["R1"])[0]
            #expect(deleted.code == .itemNotFound)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-BAT-11 the client's token comes back with the zone's changes`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            func send(_ token: [UInt8]?, _ operation: RecordOperation) async throws -> [RecordOutcome] {
                try await ModifyRecords(test.cloud).run(
                    ModifyRecordsRequest(
                        operations: [operation], zoneID: ZoneID(zoneName: "Z"), clientChangeToken: token),
                    in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
            }
            let fresh = try await test.changes()
            #expect(fresh.clientChangeToken == nil)
            _ = try await send([1, 2], create("R1"))
            _ = try await send(nil, create("R2"))
            let second = try await test.changes()
            #expect(second.clientChangeToken == [1, 2])
            _ = try await send([9], create("R2"))
            let failed = try await test.changes()
            #expect(failed.clientChangeToken == [1, 2])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-BKD-11 a follower misses nothing of many writers`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let names = try await withThrowingTaskGroup(of: Void.self, returning: Set<String>.self) { group in
                for writer in 0..<4 {
                    group.addTask {
                        for number in 0..<10 {
                            let outcome = try await test.modify([create("W\(writer)-\(number)")])[0]
                            #expect(outcome.failure == nil)
                        }
                    }
                }
                group.addTask { try await follow(test) }
                try await group.waitForAll()
                return Set((0..<4).flatMap { writer in (0..<10).map { "W\(writer)-\($0)" } })
            }
            let all = try await test.changes()
            #expect(Set(all.events.map(\.mark)) == names)
        }
    }
}

/// Follows the zone while it is written, and sees each of 40 records exactly once.
private func follow(_ test: TestCloud) async throws {
    var token: String?
    var seen: [String] = []
    // Bounded, and polite to the writers: nothing in the memory engine ever waits.
    for _ in 0..<100_000 where seen.count < 40 {
        await Task.yield()
        let page = try await test.changes(since: token, limit: 7)
        seen += page.events.map(\.mark)
        token = page.syncToken
    }
    #expect(Set(seen).count == 40)
}
