import CloudKitModel
import CloudKitServer
import OrderedStore
import Testing

@Suite(.timeLimit(.minutes(20))) struct ZoneChangesTests {
    /// Follows a zone to its end.
    private func all(
        _ test: TestCloud, since token: String? = nil, limit: Int? = nil, reverse: Bool = false
    ) async throws -> (marks: [String], pages: Int, token: String) {
        var marks: [String] = []
        var pages = 0
        var token = token
        while true {
            let page = try await test.changes(since: token, limit: limit, reverse: reverse)
            marks += page.events.map(\.mark)
            pages += 1
            token = page.syncToken
            if !page.moreComing { return (marks, pages, page.syncToken) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-CHG-05 a record appears once, where it changed last`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("A"), create("B"), create("C")])
            try await test.modify([save(.forceUpdate, "A", text("t", "new"))])
            let page = try await test.changes()
            #expect(page.events.map(\.mark) == ["B", "C", "A"])
            #expect(!page.moreComing)
            guard case .changed(let record) = page.events[2] else {
                Issue.record("not a change")
                return
            }
            let read = try await test.record("A")
            #expect(record == read)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-CHG-05 a deletion names its type, B-CHG-06 also of a record that was created and deleted since`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let token = try await test.changes().syncToken
            try await test.modify([create("A", "Note")])
            try await test.modify([delete("A")])
            let page = try await test.changes(since: token)
            guard case .deleted(let tombstone)? = page.events.first, page.events.count == 1 else {
                Issue.record("not one deletion")
                return
            }
            #expect(tombstone.recordName == "A")
            #expect(tombstone.recordType == "Note")
            try await test.modify([create("A", "Other")])
            let again = try await test.changes(since: page.syncToken)
            #expect(again.events.map(\.mark) == ["A"])
            let fromStart = try await test.changes(since: token)
            #expect(fromStart.events.map(\.mark) == ["A"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-CHG-08 without a token only deletions during the paging are reported`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify((0..<6).map { create("R\($0)") })
            try await test.modify([delete("R1")])
            let first = try await test.changes(limit: 2)
            #expect(first.events.map(\.mark) == ["R0", "R2"])
            #expect(first.moreComing)
            try await test.modify([delete("R0"), delete("R5")])
            let rest = try await all(test, since: first.syncToken, limit: 2)
            #expect(rest.marks == ["R3", "R4", "†R0", "†R5"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-CHG-11 pages of any size contain the same changes`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify((0..<9).map { create("R\($0)") })
            try await test.modify([delete("R3"), save(.forceUpdate, "R0")])
            let whole = try await all(test)
            #expect(whole.pages == 1)
            for limit in 1...10 {
                let paged = try await all(test, limit: limit)
                #expect(paged.marks == whole.marks)
                #expect(paged.token == whole.token)
                let back = try await all(test, limit: limit, reverse: true)
                #expect(back.marks == whole.marks.reversed())
                #expect(back.token == whole.token)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-CHG-12 a page is bounded in number and bytes`(_ engine: Engine) async throws {
        var limits = Limits()
        limits.pageBytesMax = 2500
        try await withCloud(engine, limits: limits) { test in
            try await test.makeZone()
            let kilobyte = String(repeating: "x", count: 1000)
            try await test.modify((0..<4).map { create("R\($0)", "Note", text("a", kilobyte)) })
            try await test.modify([create("L", "Note", text("a", kilobyte + kilobyte + kilobyte))])
            let pages = try await all(test)
            #expect(pages.marks == ["R0", "R1", "R2", "R3", "L"])
            #expect(pages.pages == 3)
        }
        try await withCloud(engine) { test in
            try await test.makeZone()
            for start in [0, 200] { try await test.modify((start..<start + 200).map { create("R\($0)") }) }
            let web = try await test.changes(limit: 1000)
            #expect(web.events.count == 200)
            let native = try await test.changes(by: Caller(user: TestCloud.ada, surface: .native))
            #expect(native.events.count == 400)
            #expect(!native.moreComing)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-CHG-14 older changes come first, so that a child may come before its parent`(_ engine: Engine) async throws
    {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("Parent"), create("Other")])
            try await test.modify([create("Child", parent: .set(recordName: "Parent"))])
            #expect(try await test.changes().events.map(\.mark) == ["Parent", "Other", "Child"])
            try await test.modify([save(.forceUpdate, "Parent", text("a", "1"))])
            #expect(try await test.changes().events.map(\.mark) == ["Other", "Child", "Parent"])
            #expect(try await test.changes(limit: 2).events.map(\.mark) == ["Other", "Child"])
        }
    }

    @Test func `an empty token of a database reports nothing, only what follows`() async throws {
        try await withCloud { test in
            try await test.makeZone("Old")
            let start = try await test.databaseChanges(since: "")
            #expect(start.events.isEmpty && !start.moreComing)
            try await test.makeZone("New")
            #expect(try await test.databaseChanges(since: start.syncToken).events.map(\.mark) == ["New"])
            let share = try await test.sharedZone(of: TestCloud.ada, with: TestCloud.bob)
            let joined = try await test.sharedDatabaseChanges(since: "", by: TestCloud.bob)
            #expect(joined.events.isEmpty && !joined.moreComing)
            try await test.modify([create("A")], zone: share)
            let next = try await test.sharedDatabaseChanges(since: joined.syncToken, by: TestCloud.bob)
            #expect(next.events.map(\.mark) == [share])
        }
    }

    @Test func `B-CHG-02 tokens are not used up, and an old one works again`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let start = try await test.changes().syncToken
            try await test.modify([create("A")])
            let middle = try await test.changes(since: start)
            try await test.modify([create("B")])
            let end = try await test.changes(since: middle.syncToken)
            #expect(end.events.map(\.mark) == ["B"])
            let again = try await test.changes(since: start)
            #expect(again.events.map(\.mark) == ["A", "B"])
            #expect(again.syncToken == end.syncToken)
            let nothing = try await test.changes(since: end.syncToken)
            #expect(nothing.events.isEmpty)
            #expect(nothing.syncToken == end.syncToken)
            let empty = try await test.changes(since: "")
            #expect(empty.events.isEmpty)
            #expect(!empty.moreComing)
            #expect(empty.syncToken == end.syncToken)
            let zone = try await test.makeZone()
            #expect(zone.syncToken == end.syncToken)
        }
    }

    @Test func `desired types pass over the others, never over deletions; desired keys over fields`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let token = try await test.changes().syncToken
            try await test.modify([
                create("A", "Note", text("x", "1"), text("y", "1")), create("B", "Other"), create("C", "Other"),
            ])
            try await test.modify([delete("C")])
            let page = try await test.changes(since: token, keys: ["y"], types: ["Note"])
            #expect(page.events.map(\.mark) == ["A", "†C"])
            guard case .changed(let record) = page.events[0] else {
                Issue.record("not a change")
                return
            }
            #expect(record.fields.map(\.name) == ["y"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-CHG-10 a token of a zone deleted and made again has expired`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("A")])
            let token = try await test.changes().syncToken
            _ = try await ModifyZones(test.cloud).run(
                [.delete(ZoneID(zoneName: "Z")), .create(ZoneID(zoneName: "Z"))], in: TestCloud.address(.private),
                by: Caller(user: TestCloud.ada))
            await expect(.changeTokenExpired) { _ = try await test.changes(since: token) }
        }
    }

    @Test func `B-DB-13 the default zone has no feed`() async throws {
        try await withCloud { test in
            let web = await failure { _ = try await test.changes("_defaultZone") }
            #expect(web?.code == .badRequest)
            #expect(web?.reason == "cannot get changes in default zone")
            let native = Caller(user: TestCloud.ada, surface: .native)
            let refused = await failure { _ = try await test.changes("_defaultZone", by: native) }
            #expect(refused?.reason == "AppDefaultZone does not support getChanges call")
        }
    }

    @Test func `B-CHG-13 zones fail one by one`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            try await test.modify([create("A")])
            let database = try await test.databaseChanges().syncToken
            let outcomes = try await FetchZoneChanges(test.cloud).run(
                [
                    ZoneChangesRequest(zoneID: ZoneID(zoneName: "nowhere")),
                    ZoneChangesRequest(zoneID: ZoneID(zoneName: "Z")),
                    ZoneChangesRequest(zoneID: ZoneID(zoneName: "Z"), syncToken: database),
                    ZoneChangesRequest(zoneID: ZoneID(zoneName: "Z"), syncToken: "nonsense"),
                ], in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
            let codes = outcomes.map { outcome -> RequestFailure.Code? in
                if case .failed(_, let failure) = outcome { failure.code } else { nil }
            }
            #expect(codes == [.zoneNotFound, nil, .badRequest, .badRequest])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-BKD-12 forgetting deletions expires the tokens before them`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("A"), create("B"), create("C")])
            let old = try await test.changes().syncToken
            try await test.modify([delete("A")])
            let middle = try await test.changes().syncToken
            test.time.advance(1000)
            try await test.modify([delete("B")])
            #expect(try await test.compact(before: test.time.now).deletions == 1)
            await expect(.changeTokenExpired) { _ = try await test.changes(since: old) }
            let rest = try await test.changes(since: middle)
            #expect(rest.events.map(\.mark) == ["†B"])
            let fresh = try await test.changes()
            #expect(fresh.events.map(\.mark) == ["C"])
            let again = try await test.modify([create("A")])[0].record
            #expect(again != nil)
        }
    }

    @Test func `B-BKD-13 a restored store expires every token`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            let token = try await test.changes().syncToken
            let database = try await test.databaseChanges().syncToken
            let restored = try TestCloud(store: MemoryStore(epoch: 8))
            try await restored.makeZone()
            await expect(.changeTokenExpired) { _ = try await restored.changes(since: token) }
            await expect(.changeTokenExpired) { _ = try await restored.databaseChanges(since: database) }
        }
    }
}

@Suite(.timeLimit(.minutes(20))) struct DatabaseChangesTests {
    @Test(arguments: Engine.allCases)
    func `B-CHG-03 zones that came, changed or went, each once`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            let empty = try await test.databaseChanges()
            #expect(empty.events.isEmpty)
            for name in ["A", "B", "C"] { try await test.makeZone(name) }
            let start = try await test.databaseChanges(since: empty.syncToken)
            #expect(start.events.map(\.mark) == ["A", "B", "C"])
            let nothing = try await test.databaseChanges(since: start.syncToken)
            #expect(nothing.events.isEmpty)
            #expect(nothing.syncToken == start.syncToken)
            try await test.modify([create("R1")], zone: "A")
            try await test.modify([create("R2")], zone: "A")
            try await test.modify([create("R1")], zone: "C")
            // B-CHG-04: the default zone never appears.
            try await test.modify([create("R1")], zone: "_defaultZone")
            let next = try await test.databaseChanges(since: start.syncToken)
            #expect(next.events.map(\.mark) == ["A", "C"])
            guard case .changed(_, let token) = next.events[0] else {
                Issue.record("not a change")
                return
            }
            let changes = try await test.changes("A")
            #expect(changes.syncToken == token)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-CHG-08 without a token only zones deleted during the paging are reported`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            for name in ["A", "B", "C", "D"] { try await test.makeZone(name) }
            func drop(_ name: String) async throws {
                _ = try await ModifyZones(test.cloud).run(
                    [.delete(ZoneID(zoneName: name))], in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
            }
            try await drop("B")
            let first = try await test.databaseChanges(limit: 1)
            #expect(first.events.map(\.mark) == ["A"])
            #expect(first.moreComing)
            try await drop("A")
            var marks: [String] = []
            var token = first.syncToken
            var page = first
            while page.moreComing {
                page = try await test.databaseChanges(since: token, limit: 1)
                marks += page.events.map(\.mark)
                token = page.syncToken
            }
            #expect(marks == ["C", "D", "†A deleted"])
        }
    }

    @Test func `B-BKD-12 forgetting deleted zones expires the tokens before them`() async throws {
        try await withCloud { test in
            try await test.makeZone("A")
            let old = try await test.databaseChanges().syncToken
            _ = try await ModifyZones(test.cloud).run(
                [.delete(ZoneID(zoneName: "A"))], in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
            let newer = try await test.databaseChanges(since: old).syncToken
            test.time.advance(10)
            #expect(try await test.compact(before: test.time.now).zones == 1)
            await expect(.changeTokenExpired) { _ = try await test.databaseChanges(since: old) }
            let rest = try await test.databaseChanges(since: newer)
            #expect(rest.events.isEmpty)
        }
    }

    @Test func `B-DB-10 the shared database shows nothing that was not shared`() async throws {
        try await withCloud { test in
            try await test.makeZone("A")
            let caller = Caller(user: TestCloud.ada)
            let address = TestCloud.address(.shared)
            let page = try await FetchDatabaseChanges(test.cloud).run(DatabaseChangesRequest(), in: address, by: caller)
            #expect(page.events.isEmpty)
            let again = try await FetchDatabaseChanges(test.cloud).run(
                DatabaseChangesRequest(syncToken: page.syncToken), in: address, by: caller)
            #expect(again.syncToken == page.syncToken)
            let own = try await test.databaseChanges().syncToken
            await expect(.badRequest) {
                _ = try await FetchDatabaseChanges(test.cloud).run(
                    DatabaseChangesRequest(syncToken: own), in: address, by: caller)
            }
        }
    }
}

extension TestCloud {
    /// Shares a new zone as a whole with a user, who accepts, and returns its name.
    fileprivate func sharedZone(of owner: UserID, with user: UserID) async throws -> String {
        try await makeZone("Shared", of: owner)
        let share = try await shareZone("Shared", with: [invite(user)])
        try await accept(share.shortGUID, by: user)
        return "Shared"
    }
}
