import CloudKitModel
import CloudKitSchema
import CloudKitServer
import Testing

@Suite(.timeLimit(.minutes(20))) struct ModifyRecordsTests {
    @Test(arguments: Engine.allCases)
    func `B-SAV-05 a saved record can be read back`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let saved = try await test.modify([create("R1", "Note", text("title", "x"), number("n", 3))])[0].record
            let read = try await test.record("R1")
            #expect(saved == read)
            #expect(read?.recordType == "Note")
            #expect(read?.fields.map(\.name) == ["n", "title"])
            #expect(read?.json("title") == "\"x\"")
            #expect(read?.id.zoneID == ZoneID(zoneName: "Z", owner: TestCloud.ada))
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-REC-05 stamps are the server's`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let phone = Caller(user: TestCloud.ada, deviceID: "phone")
            let first = try await test.modify([create("R1")], by: phone)[0].record
            test.time.advance(500)
            let second = try await test.modify([save(.forceUpdate, "R1")])[0].record
            let created = Stamp(timestamp: 1_700_000_000_000, user: TestCloud.ada, deviceID: "phone")
            #expect(first?.created == created)
            #expect(first?.modified == created)
            #expect(second?.created == created)
            #expect(second?.modified == Stamp(timestamp: 1_700_000_000_500, user: TestCloud.ada))
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-REC-05 the newer version has the later date, within a millisecond and when the clock is set back`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            var dates: [Int64] = []
            for step: Int64 in [0, 0, 0, -3_600_000, 0, 7_200_000] {
                test.time.advance(step)
                dates.append(
                    try #require(try await test.modify([save(.forceUpdate, "R1")])[0].record).modified.timestamp)
            }
            #expect(zip(dates, dates.dropFirst()).allSatisfy { $0 < $1 })
            #expect(dates.last == test.time.now)
        }
    }

    @Test(arguments: Engine.allCases)
    func
        `B-TM-14 a record that is created again has a later creation, within a millisecond and when the clock is set back`(
            _ engine: Engine
        ) async throws
    {
        try await withCloud(engine) { test in
            try await test.makeZone()
            var dates: [Int64] = []
            for step: Int64 in [0, 0, -3_600_000, 0, 7_200_000] {
                test.time.advance(step)
                let record = try #require(try await test.modify([create("R1")])[0].record)
                try await test.modify([save(.forceUpdate, "R1")])
                try await test.modify([delete("R1")])
                dates.append(record.created.timestamp)
                #expect(record.modified.timestamp == record.created.timestamp)
            }
            #expect(zip(dates, dates.dropFirst()).allSatisfy { $0 < $1 }, "\(dates)")
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-REC-06 every save gives another tag, B-SAV-13 also one without changes`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            var tags: Set<ChangeTag> = []
            var tag = try #require(try await test.modify([create("R1", "Note", text("a", "1"))])[0].record?.changeTag)
            for _ in 0..<5 {
                tags.insert(tag)
                let record = try await test.modify([save(.update, "R1", tag: tag)])[0].record
                tag = try #require(record?.changeTag)
                #expect(record?.json("a") == "\"1\"")
            }
            #expect(tags.count == 5)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SAV-07 a conflict carries the server's record`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let first = try #require(try await test.modify([create("R1", "Note", text("a", "1"))])[0].record)
            let second = try await test.modify([save(.update, "R1", tag: first.changeTag, text("a", "2"))])[0].record
            let stale = try await test.modify([save(.update, "R1", tag: first.changeTag, text("a", "3"))])[0]
            #expect(stale.code == .conflict)
            #expect(stale.failure?.serverRecord?.value == second)
            let exists = try await test.modify([create("R1")])[0]
            #expect(exists.code == .recordExists)
            #expect(exists.failure?.serverRecord?.value == second)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-REC-02 a removed field is gone, B-SAV-06 the others stay, replacing drops them`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("R1", "Note", text("a", "1"), text("b", "1"), text("c", "1"))])
            let update = RecordChange(
                recordName: "R1", fields: [.remove(name: "a"), text("b", "2"), .remove(name: "q")])
            let updated = try await test.modify([RecordOperation(.forceUpdate, update)])[0].record
            #expect(updated?.fields.map(\.name) == ["b", "c"])
            #expect(updated?.json("b") == "\"2\"")
            let replaced = try await test.modify([save(.forceReplace, "R1", text("d", "1"))])[0].record
            #expect(replaced?.fields.map(\.name) == ["d"])
            #expect(try await test.record("R1") == replaced)
        }
    }

    @Test func `B-REC-08 desired keys limit the answer, not the record`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            var change = RecordChange(
                recordName: "R1", recordType: "Note", fields: [text("a", "1"), text("b", "1")], desiredKeys: ["b"])
            #expect(try await test.modify([RecordOperation(.create, change)])[0].record?.fields.map(\.name) == ["b"])
            change.desiredKeys = []
            #expect(try await test.modify([RecordOperation(.forceUpdate, change)])[0].record?.fields == [])
            #expect(try await test.lookup(["R1"], desiredKeys: ["a", "z"])[0].record?.fields.map(\.name) == ["a"])
            #expect(try await test.record("R1")?.fields.count == 2)
        }
    }

    @Test func `B-REC-09 a record without a name gets a random UUID`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let outcomes = try await test.modify([create(nil), create(nil)])
            let names = outcomes.compactMap { $0.record?.id.recordName }
            #expect(Set(names).count == 2)
            for name in names {
                #expect(
                    name.wholeMatch(of: /[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}/) != nil)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-REC-10 a name identifies one record, of any type`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("R1", "Note")])
            #expect(try await test.modify([create("R1", "Other")])[0].code == .recordExists)
            #expect(try await test.modify([save(.forceUpdate, "R1", "Other")])[0].code == .badRequest)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-REC-13 a missing record is an item's failure, B-ZN-07 a missing zone the request's`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("R1")])
            let outcomes = try await test.lookup(["R1", "R2"])
            #expect(outcomes[0].record != nil)
            #expect(outcomes[1].code == .itemNotFound)
            #expect(outcomes[1].failure?.reason == "Record not found")
            await expect(.zoneNotFound) { _ = try await test.lookup(["R1"], zone: "Y") }
            await expect(.zoneNotFound) { try await test.modify([create("R1")], zone: "Y") }
            await expect(.zoneNotFound) { try await test.modify([delete("R1")], zone: "Y") }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SAV-11 deleting twice succeeds, B-SAV-12 a deleted record can be made again`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let first = try #require(try await test.modify([create("R1", "Note", text("a", "1"))])[0].record)
            #expect(try await test.modify([delete("R1")])[0].isDeleted)
            #expect(try await test.modify([delete("R1")])[0].isDeleted)
            #expect(try await test.record("R1") == nil)
            let tagged = try await test.modify([save(.update, "R1", tag: first.changeTag)])[0]
            #expect(tagged.failure?.reason == "recordChangeTag specified, but record not found")
            test.time.advance(10)
            let again = try await test.modify([create("R1", "Other")])[0].record
            #expect(again?.fields == [])
            #expect(again?.recordType == "Other")
            #expect(again?.created.timestamp == first.created.timestamp + 10)
            #expect(again?.changeTag != first.changeTag)
        }
    }

    @Test func `B-LIM-01 400 items for our framework, B-LIM-03 200 on the web`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let operations = (0...400).map { create("R\($0)") }
            let native = Caller(user: TestCloud.ada, surface: .native)
            let tooMany = await failure { try await test.modify(operations, by: native) }
            #expect(tooMany?.code == .itemLimitExceeded)
            #expect(
                tooMany?.reason == "Your request contains 401 items which is more than the maximum number of items in "
                    + "a single request (400)")
            #expect(try await test.modify(Array(operations.prefix(400)), by: native).allSatisfy { $0.record != nil })
            await expect(.itemLimitExceeded) { try await test.modify(Array(operations.prefix(201))) }
            await expect(.itemLimitExceeded) { _ = try await test.lookup((0...200).map { "R\($0)" }) }
        }
    }

    @Test func `B-LIM-02 a request has 2 MB at most, B-LIM-05 a record 1 MB`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let large = String(repeating: "x", count: 700_000)
            let tooLarge = await failure {
                try await test.modify((0..<4).map { create("R\($0)", "Note", text("a", large)) })
            }
            #expect(tooLarge?.code == .sizeLimitExceeded)
            #expect(try await test.modify([create("R1", "Note", text("a", large))])[0].record != nil)
            let grown = try await test.modify([save(.forceUpdate, "R1", text("b", large))])[0]
            #expect(grown.code == .sizeLimitExceeded)
            #expect(grown.failure?.reason == "record too large")
            let whole = String(repeating: "x", count: 1_048_577)
            #expect(try await test.modify([create("R2", "Note", text("a", whole))])[0].code == .sizeLimitExceeded)
        }
    }

    @Test func `B-LIM-11 record names are ASCII and do not begin with an underscore`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            for name in ["", "_own", "é", "a\u{0}b", String(repeating: "n", count: 256)] {
                #expect(try await test.modify([create(name)])[0].code == .badRequest, "\(name)")
                #expect(try await test.lookup([name])[0].code == .itemNotFound)
                #expect(try await test.modify([delete(name)])[0].isDeleted)
            }
            #expect(try await test.modify([create(String(repeating: "n", count: 255))])[0].record != nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-THR-01 over quota nothing grows, and deletions stay possible`(_ engine: Engine) async throws {
        var limits = Limits()
        limits.quotaBytes = 3000
        try await withCloud(engine, limits: limits) { test in
            try await test.makeZone()
            let kilobyte = String(repeating: "x", count: 1000)
            let outcomes = try await test.modify(
                (0..<4).map { create("R\($0)", "Note", text("a", kilobyte)) }, atomic: false)
            #expect(outcomes.map { $0.record != nil } == [true, true, false, false])
            #expect(outcomes[3].code == .quotaExceeded)
            #expect(outcomes[3].failure?.reason == "Quota exceeded")
            #expect(outcomes[3].failure?.retryAfter == 300)
            #expect(try await test.modify([save(.forceUpdate, "R0", text("a", "small"))])[0].record != nil)
            #expect(try await test.modify([delete("R1")])[0].isDeleted)
            #expect(try await test.modify([create("R3", "Note", text("a", kilobyte))])[0].record != nil)
        }
    }

    @Test func `B-BAT-12 verbs that compare tags need one`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            for kind in [RecordOperation.Kind.update, .replace, .delete] {
                let refused = await failure { try await test.modify([create("R0"), save(kind, "R1")]) }
                #expect(refused?.code == .badRequest)
                #expect(refused?.reason == "BadRequestException: missing required field 'recordChangeTag'")
            }
            try await test.modify([create("R1")])
            let empty = try await test.modify([save(.update, "R1", tag: ChangeTag(""))])[0]
            #expect(empty.code == .conflict)
        }
    }
}

@Suite(.timeLimit(.minutes(20))) struct DatabaseAccessTests {
    @Test(arguments: Engine.allCases)
    func `B-DB-01 environments, containers and users hold separate data`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.modify([create("R1")], zone: "_defaultZone")
            #expect(try await test.record("R1", zone: "_defaultZone") != nil)
            let bob = try await test.lookup(["R1"], zone: "_defaultZone", by: Caller(user: TestCloud.bob))
            #expect(bob[0].code == .itemNotFound)
            #expect(try await test.lookup(["R1"], zone: "_defaultZone", in: .public)[0].code == .itemNotFound)
            let request = LookupRecordsRequest(records: [.init(recordName: "R1")], zoneID: .default)
            let caller = Caller(user: TestCloud.ada)
            let production = TestCloud.address(.private, .production)
            #expect(
                try await LookupRecords(test.cloud).run(request, in: production, by: caller)[0].code == .itemNotFound)
            let other = DatabaseAddress(container: ContainerID("other"), environment: .development, scope: .private)
            #expect(try await LookupRecords(test.cloud).run(request, in: other, by: caller)[0].code == .itemNotFound)
        }
    }

    @Test func `B-DB-03 public reads need no account, writes do`() async throws {
        try await withCloud { test in
            try await test.modify([create("R1")], zone: "_defaultZone", in: .public)
            let read = try await test.lookup(["R1"], zone: "_defaultZone", in: .public, by: .anonymous)
            #expect(read[0].record?.id.zoneID.owner == .publicOwner)
            let written = await failure {
                try await test.modify([create("R2")], zone: "_defaultZone", in: .public, by: .anonymous)
            }
            #expect(written?.code == .authenticationRequired)
            #expect(written?.reason == "request needs authorization")
            for scope in [DatabaseScope.private, .shared] {
                let refused = await failure { _ = try await test.lookup(["R1"], in: scope, by: .anonymous) }
                #expect(refused?.code == .authenticationRequired)
            }
        }
    }

    @Test func `B-DB-04 the public database has its default zone only, and no feeds`() async throws {
        try await withCloud { test in
            let caller = Caller(user: TestCloud.ada)
            let address = TestCloud.address(.public)
            let reason = "endpoint not applicable in the database type 'publicdb'"
            let zones = await failure {
                _ = try await ModifyZones(test.cloud).run([.create(ZoneID(zoneName: "Z"))], in: address, by: caller)
            }
            #expect(zones?.reason == reason)
            let feed = await failure {
                _ = try await FetchDatabaseChanges(test.cloud).run(DatabaseChangesRequest(), in: address, by: caller)
            }
            #expect(feed?.reason == reason)
            let zoneFeed = await failure {
                _ = try await FetchZoneChanges(test.cloud).run(
                    [ZoneChangesRequest(zoneID: .default)], in: address, by: caller)
            }
            #expect(zoneFeed?.reason == reason)
            await expect(.zoneNotFound) { try await test.modify([create("R1")], zone: "Z", in: .public) }
            #expect(
                try await ListZones(test.cloud).run(in: address, by: .anonymous).map(\.id.zoneName) == ["_defaultZone"])
            let encrypted = FieldChange.set(
                Field(name: "s", type: FieldType(.string, isEncrypted: true), json: Array("\"x\"".utf8)))
            let refused = try await test.modify([create("R1", "Note", encrypted)], zone: "_defaultZone", in: .public)[0]
            #expect(refused.failure?.reason == "encrypted fields are not supported in the public database")
        }
    }

    @Test func `B-ENC-01 references are never encrypted fields`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let json = Array(#"{"recordName":"T","action":"NONE"}"#.utf8)
            let encrypted = FieldChange.set(
                Field(name: "to", type: FieldType(.reference, isEncrypted: true), json: json))
            let refused = try await test.modify([create("R1", "Note", encrypted)])[0]
            #expect(refused.code == .badRequest)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-DB-06 only its creator changes or deletes a public record`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            let bob = Caller(user: TestCloud.bob)
            try await test.modify([create("R1")], zone: "_defaultZone", in: .public)
            for operation in [save(.forceUpdate, "R1", text("a", "1")), delete("R1")] {
                let outcome = try await test.modify([operation], zone: "_defaultZone", in: .public, by: bob)[0]
                #expect(outcome.code == .accessDenied)
                #expect(outcome.failure?.reason == "WRITE operation not permitted")
            }
            #expect(try await test.modify([create("R2")], zone: "_defaultZone", in: .public, by: bob)[0].record != nil)
            #expect(try await test.modify([delete("R1")], zone: "_defaultZone", in: .public)[0].isDeleted)
        }
    }

    @Test func `B-DB-08 a type without CREATE cannot be created`() async throws {
        try await withCloud { test in
            try await test.modify([create("R1")], zone: "_defaultZone", in: .public)
            try await SetGrants(test.cloud).run(
                [Grant(.write, to: Grant.creator)], ofType: "Note", in: TestCloud.container, .development)
            let created = try await test.modify([create("R2")], zone: "_defaultZone", in: .public)[0]
            #expect(created.failure?.reason == "CREATE operation not permitted")
            let read = try await test.lookup(["R1"], zone: "_defaultZone", in: .public)[0]
            #expect(read.failure?.reason == "READ operation not permitted")
        }
    }

    @Test func `B-DB-12 own zones in private, foreign ones in shared`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            func request(_ zone: ZoneID) -> LookupRecordsRequest {
                LookupRecordsRequest(records: [.init(recordName: "R")], zoneID: zone)
            }
            let caller = Caller(user: TestCloud.ada)
            let foreign = ZoneID(zoneName: "Z", owner: TestCloud.bob)
            func refusal(_ zone: ZoneID, _ scope: DatabaseScope) async -> RequestFailure? {
                await failure {
                    _ = try await LookupRecords(test.cloud).run(request(zone), in: TestCloud.address(scope), by: caller)
                }
            }
            #expect(await refusal(foreign, .private)?.reason == "PrivateDB can't be used to access another user's zone")
            #expect(await refusal(.default, .shared)?.reason == "Only shared zones can be accessed in the shared DB")
            #expect(await refusal(ZoneID(zoneName: "Z", owner: TestCloud.ada), .shared)?.code == .badRequest)
            #expect(await refusal(foreign, .shared)?.code == .zoneNotFound)
            let zones = await failure {
                _ = try await ModifyZones(test.cloud).run(
                    [.create(ZoneID(zoneName: "Y"))], in: TestCloud.address(.shared), by: caller)
            }
            #expect(zones?.reason == "Only shared zones can be accessed in the shared DB")
        }
    }

    @Test func `B-ZN-03 a caller may name itself in every spelling`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            try await test.modify([create("R1")])
            for owner in [UserID.caller, .publicOwner, TestCloud.ada] {
                let outcome = try await LookupRecords(test.cloud).run(
                    LookupRecordsRequest(
                        records: [.init(recordName: "R1")], zoneID: ZoneID(zoneName: "Z", owner: owner)),
                    in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))[0]
                #expect(outcome.record?.id.zoneID.owner == TestCloud.ada)
            }
        }
    }

    @Test func `B-ACC-09 server keys reach the public database only`() async throws {
        try await withCloud { test in
            let key = Caller(user: TestCloud.ada, isServerKey: true)
            let saved = try await test.modify([create("R1")], zone: "_defaultZone", in: .public, by: key)[0].record
            #expect(saved != nil)
            await expect(.accessDenied) { _ = try await test.lookup(["R1"], by: key) }
        }
    }

    @Test func `B-USR-02 user records cannot be created`() async throws {
        try await withCloud { test in
            for scope in [DatabaseScope.private, .public] {
                let outcome = try await test.modify([create("U", "Users")], zone: "_defaultZone", in: scope)[0]
                #expect(outcome.failure?.reason == "CREATE operation not permitted")
            }
            #expect(try await test.cloud.schema(TestCloud.container, .production)["Users"] != nil)
        }
    }
}
