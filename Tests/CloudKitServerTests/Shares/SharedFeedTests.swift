import CloudKitModel
import CloudKitServer
import Testing

@Suite(.timeLimit(.minutes(20))) struct SharedFeedTests {
    private func withTree(_ engine: Engine = .memory, _ body: (TestCloud, Record) async throws -> Void) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([
                create("Root"), create("A", parent: .set(recordName: "Root")),
                create("B", parent: .set(recordName: "A")),
                create("Outside"), create("Under", parent: .set(recordName: "Outside")),
            ])
            let share = try await test.shareTree("Root", with: [invite(TestCloud.bob)])
            try await body(test, share)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SHF-01, B-SHF-02, B-SHF-03 accepting shows the zone at once with all that is shared`(
        _ engine: Engine
    ) async throws {
        try await withTree(engine) { test, share in
            let bob = TestCloud.bob
            #expect(try await test.sharedDatabaseChanges(by: bob).events.isEmpty)
            let token = try await test.sharedDatabaseChanges(by: bob).syncToken
            #expect(try await test.accept(share.shortGUID, by: bob).invitation?.acceptance == .accepted)
            let page = try await test.sharedDatabaseChanges(since: token, by: bob)
            #expect(page.events.map(\.mark) == ["Z"])
            if case .changed(let id, _)? = page.events.first { #expect(id.owner == TestCloud.ada) }
            let zones = try await ListZones(test.cloud).run(in: TestCloud.address(.shared), by: Caller(user: bob))
            #expect(zones.map(\.id) == [ZoneID(zoneName: "Z", owner: TestCloud.ada)])
            for limit in [1, 2, 10] {
                let (marks, _) = try await test.follow(limit: limit, by: bob)
                #expect(Set(marks) == ["Root", "A", "B", "Share-Root"])
                #expect(marks.count == 4)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SHF-06 a record that enters is a change, one that leaves a deletion`(_ engine: Engine) async throws {
        try await withTree(engine) { test, share in
            let bob = TestCloud.bob
            try await test.accept(share.shortGUID, by: bob)
            var (_, token) = try await test.follow(by: bob)
            try await test.modify([save(.forceUpdate, "Outside", parent: .set(recordName: "A"))])
            var marks: [String]
            (marks, token) = try await test.follow(since: token, by: bob)
            #expect(Set(marks) == ["Outside", "Under"])
            try await test.modify([save(.forceUpdate, "Outside", parent: .remove)])
            (marks, token) = try await test.follow(since: token, by: bob)
            #expect(Set(marks) == ["†Outside", "†Under"])
            try await test.modify([save(.forceUpdate, "Under", parent: .set(recordName: "B"))])
            (marks, token) = try await test.follow(since: token, by: bob)
            #expect(marks == ["Under"])
            try await test.modify([delete("Under"), create("New", parent: .set(recordName: "B"))])
            (marks, token) = try await test.follow(since: token, by: bob)
            #expect(Set(marks) == ["†Under", "New"])
            #expect(try await test.follow(since: token, by: bob).marks.isEmpty)
        }
    }

    @Test func `B-SHF-04, B-SHF-07 losing the last share of a zone takes the zone away`() async throws {
        try await withTree { test, share in
            let bob = TestCloud.bob
            try await test.accept(share.shortGUID, by: bob)
            let token = try await test.sharedDatabaseChanges(by: bob).syncToken
            let (_, zoneToken) = try await test.follow(by: bob)
            try await test.changeShare("Share-Root", ShareChange(participants: []))
            let page = try await test.sharedDatabaseChanges(since: token, by: bob)
            #expect(page.events.map(\.mark) == ["†Z deleted"])
            await expect(.zoneNotFound) { _ = try await test.sharedChanges(since: zoneToken, by: bob) }
            // A participant again: the state of the old token may have changed unseen.
            try await test.changeShare("Share-Root", ShareChange(participants: [invite(bob)]))
            try await test.accept(share.shortGUID, by: bob)
            #expect(try await test.sharedDatabaseChanges(since: page.syncToken, by: bob).events.map(\.mark) == ["Z"])
            await expect(.changeTokenExpired) { _ = try await test.sharedChanges(since: zoneToken, by: bob) }
            #expect(try await test.follow(by: bob).marks.count == 4)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SHF-05 losing one of several shares deletes the records it held`(_ engine: Engine) async throws {
        try await withTree(engine) { test, share in
            let bob = TestCloud.bob
            let second = try await test.shareTree("Outside", with: [invite(bob, .readOnly)])
            try await test.accept(share.shortGUID, by: bob)
            var (marks, token) = try await test.follow(by: bob)
            #expect(marks.count == 4)
            let databaseToken = try await test.sharedDatabaseChanges(by: bob).syncToken
            try await test.accept(second.shortGUID, by: bob)
            #expect(try await test.sharedDatabaseChanges(since: databaseToken, by: bob).events.map(\.mark) == ["Z"])
            (marks, token) = try await test.follow(since: token, limit: 1, by: bob)
            #expect(Set(marks) == ["Outside", "Under", "Share-Outside"])
            try await test.modify([delete("Share-Root")], of: TestCloud.ada, by: bob)
            (marks, token) = try await test.follow(since: token, limit: 1, by: bob)
            #expect(Set(marks) == ["†Root", "†A", "†B", "†Share-Root"])
            #expect(try await test.sharedLookup(["A", "Under"], by: bob).map(\.code) == [.itemNotFound, nil])
        }
    }

    @Test func `B-ZN-09 purge, reset and deletion by the owner appear with their reasons`() async throws {
        let reasons: [(ZoneDeletionReason, @Sendable (TestCloud) async throws -> Void)] = [
            (
                .deleted,
                { test in
                    _ = try await ModifyZones(test.cloud).run(
                        [.delete(ZoneID(zoneName: "Z"))], in: TestCloud.address(.private),
                        by: Caller(user: TestCloud.ada))
                }
            ),
            (
                .purged,
                {
                    try await EndZone($0.cloud).purge("Z", of: TestCloud.ada, in: TestCloud.container, .development)
                }
            ),
            (
                .encryptedDataReset,
                {
                    try await EndZone($0.cloud).resetKeys(
                        ofZone: "Z", of: TestCloud.ada, in: TestCloud.container, .development)
                }
            ),
        ]
        for (reason, end) in reasons {
            try await withTree { test, share in
                try await test.accept(share.shortGUID, by: TestCloud.bob)
                let token = try await test.sharedDatabaseChanges(by: TestCloud.bob).syncToken
                try await end(test)
                let page = try await test.sharedDatabaseChanges(since: token, by: TestCloud.bob)
                #expect(page.events.map(\.mark) == ["†Z \(reason.rawValue)"])
                await expect(.zoneNotFound) { _ = try await test.sharedChanges(by: TestCloud.bob) }
                #expect(try await test.sharedDatabaseChanges(since: page.syncToken, by: TestCloud.bob).events.isEmpty)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SHR-01 a zone-wide share shares every record`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            let bob = TestCloud.bob
            try await test.makeZone()
            try await test.modify([create("A"), create("B")])
            let share = try await test.shareZone(with: [invite(bob)])
            try await test.accept(share.shortGUID, by: bob)
            var (marks, token) = try await test.follow(limit: 1, by: bob)
            #expect(Set(marks) == ["A", "B", Share.zoneWideName])
            try await test.modify([create("C")], of: TestCloud.ada, by: bob)
            try await test.modify([delete("A")])
            (marks, token) = try await test.follow(since: token, by: bob)
            #expect(marks == ["C", "†A"])
            #expect(try await test.record("C")?.created.user == bob)
            await expect(.badRequest) {
                _ = try await ModifyRecords(test.cloud).run(
                    ModifyRecordsRequest(operations: [create("D")], zoneID: ZoneID(zoneName: "Z")),
                    in: TestCloud.address(.shared), by: Caller(user: bob))
            }
        }
    }

    @Test func `B-CHG-17 a share is reported again when its participants change`() async throws {
        try await withTree { test, share in
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            let (_, token) = try await test.follow(by: TestCloud.bob)
            let owners = try await test.changes().syncToken
            try await test.changeShare(
                "Share-Root", ShareChange(participants: [invite(TestCloud.bob), invite(TestCloud.cyd)]))
            #expect(try await test.follow(since: token, by: TestCloud.bob).marks == ["Share-Root"])
            let guid = try #require(share.shortGUID)
            try await test.accept(guid, by: TestCloud.cyd)
            let page = try await test.changes(since: owners)
            #expect(page.events.map(\.mark) == ["Share-Root"])
            guard case .changed(let record)? = page.events.first else { return }
            #expect(record.sharing?.participants.map(\.acceptance) == [.accepted, .accepted, .accepted])
        }
    }

    @Test func `B-DB-11 records added by a participant count against the owner's quota`() async throws {
        var limits = Limits()
        limits.quotaBytes = 6_000
        try await withCloud(limits: limits) { test in
            try await test.makeZone()
            let share = try await test.shareZone(with: [invite(TestCloud.bob)])
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            let large = String(repeating: "x", count: 3_000)
            let first = try await test.modify(
                [create("A", "Note", text("t", large))], of: TestCloud.ada, by: TestCloud.bob)
            #expect(first[0].record != nil)
            let second = try await test.modify(
                [create("B", "Note", text("t", large))], of: TestCloud.ada, by: TestCloud.bob)
            #expect(second[0].code == .quotaExceeded)
        }
    }
}
