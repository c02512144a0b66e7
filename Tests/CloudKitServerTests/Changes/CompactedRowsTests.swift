import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import OrderedStore
import Testing

/// The rows of the store after compaction: nothing of what was forgotten stays.
@Suite(.timeLimit(.minutes(20))) struct CompactedRowsTests {
    private static func partition(of user: UserID) -> Partition {
        .privateDatabase(TestCloud.container, .development, of: user)
    }

    /// The number of rows of a user's database with a text in their key or value.
    private func rows(naming text: String, of user: UserID = TestCloud.ada, _ test: TestCloud) async throws -> Int {
        try await test.store.read(Self.partition(of: user)) { transaction in
            try await transaction.scan(KeyRange(lower: [], upper: [0xFF]), limit: .max).count { entry in
                entry.key.contains(Array(text.utf8)) || entry.value.contains(Array(text.utf8))
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-BKD-12 no row names a deleted record, and the feed has no entry without a record`(_ engine: Engine)
        async throws
    {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("kept", "Note", text("t", "a"))])
            let rows = try await rows(naming: "kept", test)
            try await test.modify([
                create(
                    "forgotten", "Note", text("t", "a"), reference("to", to: "kept", .deleteSelf),
                    parent: .set(recordName: "kept"))
            ])
            #expect(try await self.rows(naming: "forgotten", test) > 2)
            try await test.modify([delete("forgotten")])
            test.time.advance(1000)
            #expect(try await test.compact(before: test.time.now).deletions == 1)
            #expect(try await self.rows(naming: "forgotten", test) == 0)
            #expect(try await self.rows(naming: "kept", test) == rows)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-BKD-12 no row names a deleted zone, in its own database and in those of others`(_ engine: Engine)
        async throws
    {
        try await withCloud(engine) { test in
            try await test.makeZone("Forgotten")
            try await test.modify([create("R")], zone: "Forgotten")
            let share = try await test.shareZone("Forgotten", with: [invite(TestCloud.bob)])
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            #expect(try await rows(naming: "Forgotten", of: TestCloud.bob, test) > 0)
            _ = try await ModifyZones(test.cloud).run(
                [.delete(ZoneID(zoneName: "Forgotten"))], in: TestCloud.address(.private),
                by: Caller(user: TestCloud.ada))
            #expect(
                try await test.sharedDatabaseChanges(by: TestCloud.bob).events.isEmpty)
            while try await RunOutbox(test.cloud).run() {}
            test.time.advance(1000)
            #expect(try await test.compact(before: test.time.now).zones == 2)
            #expect(try await rows(naming: "Forgotten", test) == 0)
            #expect(try await rows(naming: "Forgotten", of: TestCloud.bob, test) == 0)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-BKD-12 a record that left a tree has the rows of one that never was in it`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([
                create("Root"), create("left-1", parent: .set(recordName: "Root")),
                create("left-2", parent: .set(recordName: "Root")), create("never"),
            ])
            let share = try await test.shareTree("Root", with: [invite(TestCloud.bob)])
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            try await test.modify([
                save(.forceUpdate, "left-1", parent: .remove), save(.forceUpdate, "left-2", parent: .remove),
            ])
            #expect(try await rows(naming: "left-1", test) > rows(naming: "never", test))
            test.time.advance(1000)
            #expect(try await test.compact(before: test.time.now).leavings == 2)
            for name in ["left-1", "left-2"] {
                #expect(try await rows(naming: name, test) == rows(naming: "never", test))
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-BKD-12 a forgotten loss leaves no row`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            let bob = TestCloud.bob
            try await test.makeZone()
            try await test.modify([create("Lost"), create("Other")])
            let lost = try await test.shareTree("Lost", with: [invite(bob)])
            let other = try await test.shareTree("Other", with: [invite(bob)])
            try await test.accept(other.shortGUID, by: bob)
            let before = try await rows(naming: "Lost", test)
            try await test.accept(lost.shortGUID, by: bob)
            try await test.modify([delete("Share-Lost")], of: TestCloud.ada, by: bob)
            #expect(try await rows(naming: "Lost", test) > before)
            test.time.advance(1000)
            #expect(try await test.compact(before: test.time.now).leavings == 1)
            #expect(try await rows(naming: "Lost", test) == before)
        }
    }
}
