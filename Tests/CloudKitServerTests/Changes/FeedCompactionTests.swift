import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import Synchronization
import Testing

extension TestCloud {
    /// Compacts every private database.
    @discardableResult
    func compact(before cutoff: Int64) async throws -> FeedCompaction {
        var total = FeedCompaction()
        for database in try await CompactFeeds(cloud).databases(after: nil, limit: .max) {
            total.add(try await CompactFeeds(cloud).run(of: database, before: cutoff))
        }
        return total
    }

    /// Shares two records of a zone with the same user, who takes part twice in the zone.
    fileprivate func shareTwoTrees(with user: UserID) async throws {
        try await makeZone()
        try await modify([create("One"), create("Two")])
        for root in ["One", "Two"] {
            let share = try await shareTree(root, with: [invite(user)])
            try await accept(share.shortGUID, by: user)
        }
    }
}

@Suite(.timeLimit(.minutes(20))) struct FeedCompactionTests {
    @Test(arguments: Engine.allCases)
    func `B-BKD-12 compaction continues where it ended, also after deletions`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let names = (0..<30).map { "R\($0)" }
            try await test.modify(names.map { create($0) })
            for (index, name) in names.enumerated() where index % 3 == 0 {
                test.time.advance(1000)
                try await test.modify([delete(name)])
            }
            let middle = test.time.now - 5000
            #expect(try await test.compact(before: middle).deletions == 4)
            #expect(try await test.compact(before: middle).isEmpty)
            // One that went comes back, and goes again.
            try await test.modify([create("R0")])
            let newest = try await test.changes().syncToken
            try await test.modify([delete("R0")])
            test.time.advance(1000)
            #expect(try await test.compact(before: test.time.now).deletions == 7)
            await expect(.changeTokenExpired) { _ = try await test.changes(since: newest) }
            let fresh = try await test.changes()
            #expect(fresh.events.count == 20 && fresh.events.allSatisfy { !$0.mark.hasPrefix("†") })
            #expect(try await test.changes(since: fresh.syncToken).events.isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-BKD-12 B-SHF-06 a participant's token expires when a record leaves the tree, the owner's does not`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([
                create("Root"), create("A", parent: .set(recordName: "Root")),
                create("B", parent: .set(recordName: "Root")),
            ])
            let share = try await test.shareTree("Root", with: [invite(TestCloud.bob)])
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            let owners = try await test.changes().syncToken
            let (_, old) = try await test.follow(by: TestCloud.bob)
            try await test.modify([save(.forceUpdate, "A", parent: .remove)])
            let (_, newer) = try await test.follow(since: old, by: TestCloud.bob)
            test.time.advance(1000)
            try await test.modify([save(.forceUpdate, "B", parent: .remove)])
            #expect(try await test.compact(before: test.time.now).leavings == 1)
            await expect(.changeTokenExpired) { _ = try await test.sharedChanges(since: old, by: TestCloud.bob) }
            #expect(try await test.follow(since: newer, by: TestCloud.bob).marks == ["†B"])
            #expect(try await test.changes(since: owners).events.map(\.mark) == ["A", "B"])
            // It left, came back, and leaves once more.
            try await test.modify([save(.forceUpdate, "A", parent: .set(recordName: "Root"))])
            let (marks, token) = try await test.follow(since: newer, by: TestCloud.bob)
            #expect(Set(marks) == ["†B", "A"])
            try await test.modify([save(.forceUpdate, "A", parent: .remove)])
            #expect(try await test.follow(since: token, by: TestCloud.bob).marks == ["†A"])
            test.time.advance(1000)
            #expect(try await test.compact(before: test.time.now).leavings == 2)
            await expect(.changeTokenExpired) { _ = try await test.sharedChanges(since: token, by: TestCloud.bob) }
            #expect(Set(try await test.follow(by: TestCloud.bob).marks) == ["Root", "Share-Root"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-BKD-12 B-SHF-05 the loss of one of several participations is forgotten`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            let bob = TestCloud.bob
            try await test.shareTwoTrees(with: bob)
            let (_, token) = try await test.follow(by: bob)
            try await test.modify([delete("Share-One")], of: TestCloud.ada, by: bob)
            test.time.advance(1000)
            let (marks, after) = try await test.follow(since: token, by: bob)
            #expect(Set(marks) == ["†One", "†Share-One"])
            #expect(try await test.compact(before: test.time.now).leavings == 1)
            await expect(.changeTokenExpired) { _ = try await test.sharedChanges(since: token, by: bob) }
            #expect(try await test.follow(since: after, by: bob).marks.isEmpty)
            #expect(Set(try await test.follow(by: bob).marks) == ["Two", "Share-Two"])
            #expect(try await test.compact(before: test.time.now).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-BKD-12 B-SHF-06 a device that was offline when a record left its tree and was forgotten learns of the zone`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            let bob = TestCloud.bob
            try await test.makeZone()
            try await test.modify([create("Root"), create("A", parent: .set(recordName: "Root"))])
            let share = try await test.shareTree("Root", with: [invite(bob)])
            try await test.accept(share.shortGUID, by: bob)
            let database = try await test.sharedDatabaseChanges(by: bob).syncToken
            let (_, zone) = try await test.follow(by: bob)
            try await test.modify([save(.forceUpdate, "A", parent: .remove)])
            test.time.advance(1000)
            #expect(try await test.compact(before: test.time.now).leavings == 1)
            let page = try await test.sharedDatabaseChanges(since: database, by: bob)
            #expect(page.events.map(\.mark) == ["Z"])
            await expect(.changeTokenExpired) { _ = try await test.sharedChanges(since: zone, by: bob) }
            let (marks, fresh) = try await test.follow(by: bob)
            #expect(Set(marks) == ["Root", "Share-Root"])
            // There are no further changes.
            #expect(try await test.sharedDatabaseChanges(since: page.syncToken, by: bob).events.isEmpty)
            #expect(try await test.follow(since: fresh, by: bob).marks.isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-BKD-12 B-SHF-05 a device that was offline for the loss of one of several participations learns of the zone`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            let bob = TestCloud.bob
            try await test.shareTwoTrees(with: bob)
            let database = try await test.sharedDatabaseChanges(by: bob).syncToken
            try await test.modify([delete("Share-One")], of: TestCloud.ada, by: bob)
            test.time.advance(1000)
            #expect(try await test.compact(before: test.time.now).leavings == 1)
            let page = try await test.sharedDatabaseChanges(since: database, by: bob)
            #expect(page.events.map(\.mark) == ["Z"])
            #expect(Set(try await test.follow(by: bob).marks) == ["Two", "Share-Two"])
            #expect(try await test.sharedDatabaseChanges(since: page.syncToken, by: bob).events.isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-BKD-12 B-SHF-04 zones of others that went are forgotten`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            let bob = TestCloud.bob
            try await test.makeZone()
            let share = try await test.shareZone(with: [invite(bob)])
            try await test.accept(share.shortGUID, by: bob)
            let old = try await test.sharedDatabaseChanges(by: bob).syncToken
            try await test.modify([delete(Share.zoneWideName)])
            let page = try await test.sharedDatabaseChanges(since: old, by: bob)
            #expect(page.events.map(\.mark) == ["†Z deleted"])
            #expect(try await test.compact(before: test.time.now).zones == 0)
            test.time.advance(1000)
            #expect(try await test.compact(before: test.time.now).zones == 1)
            await expect(.changeTokenExpired) { _ = try await test.sharedDatabaseChanges(since: old, by: bob) }
            #expect(try await test.sharedDatabaseChanges(since: page.syncToken, by: bob).events.isEmpty)
            #expect(try await test.sharedDatabaseChanges(by: bob).events.isEmpty)
        }
    }

    @Test func `B-ZN-10 a purged zone is not forgotten before a client has taken note`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            try await EndZone(test.cloud).purge("Z", of: TestCloud.ada, in: TestCloud.container, .development)
            test.time.advance(1000)
            #expect(try await test.compact(before: test.time.now).isEmpty)
            await expect(.zonePurged) { try await test.modify([create("A")]) }
        }
    }

    @Test func `B-BKD-12 feeds are compacted once a day, by the cloud's clock`() async throws {
        try await withCloud { test in
            let day: Int64 = 86_400_000
            try await test.makeZone()
            try await test.makeZone("Y", of: TestCloud.bob)
            try await test.modify([create("A"), create("B")])
            try await test.modify([delete("A")])
            test.time.advance(20 * day)
            try await test.modify([delete("B")])
            let pauses = Mutex<[Duration]>([])
            let compactor = FeedCompactor(cloud: test.cloud, kept: 30 * day)
            test.time.sleep { pause in
                let count = pauses.withLock { pauses in
                    pauses.append(pause)
                    return pauses.count
                }
                if count == 40 { throw CancellationError() }
                test.time.advance(Int64(pause / .milliseconds(1)))
            }
            let runs = Mutex<[FeedCompaction]>([])
            await compactor.run { run in
                runs.withLock { $0.append(run) }
            } failed: {
                Issue.record("\($0)")
            }
            #expect(runs.withLock { $0.enumerated().filter { !$0.element.isEmpty }.map(\.offset) } == [10])
            #expect(
                pauses.withLock { Array($0.prefix(4)) } == [
                    FeedCompactor.firstPause, FeedCompactor.pauseBetweenDatabases, FeedCompactor.pauseBetweenDatabases,
                    FeedCompactor.pause,
                ])
        }
    }
}
