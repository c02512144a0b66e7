import CloudKitModel
import CloudKitServer
import Testing

/// A shared database that is read while a share of it is accepted.
@Suite(.timeLimit(.minutes(20))) struct SharedFeedRaceTests {
    private static func readFeed(since token: String?, _ cloud: Cloud) async throws -> DatabaseChangesPage {
        try await FetchDatabaseChanges(cloud).run(
            DatabaseChangesRequest(syncToken: token), in: TestCloud.address(.shared), by: Caller(user: TestCloud.bob))
    }

    @Test(arguments: Engine.allCases)
    func `B-SHF-01 a zone that is accepted again while its loss is noted stays in the shared database`(
        _ engine: Engine
    ) async throws {
        try await Race { test in
            try await test.makeZone()
            try await test.modify([create("Root")])
            let share = try await test.shareTree("Root", with: [invite(TestCloud.bob)])
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            _ = try await Self.readFeed(since: nil, test.cloud)
            try await test.changeShare("Share-Root", ShareChange(participants: []))
        } slow: { cloud in
            _ = try await Self.readFeed(since: nil, cloud)
        } meanwhile: { test in
            let again = try await test.changeShare("Share-Root", ShareChange(participants: [invite(TestCloud.bob)]))
            let accepted = try await test.accept(again.record?.shortGUID, by: TestCloud.bob).invitation
            #expect(accepted?.acceptance == .accepted)
        } check: { test in
            let feed = try await Self.readFeed(since: nil, test.cloud)
            #expect(feed.events.map(\.mark) == ["Z"])
            let zones = try await ListZones(test.cloud).run(
                in: TestCloud.address(.shared), by: Caller(user: TestCloud.bob))
            #expect(zones.map(\.id.zoneName) == ["Z"])
        }.run(engine, stepsMin: 3)
    }

    @Test(arguments: Engine.allCases)
    func `B-SHF-01 a device whose feed an acceptance overtakes finds the zone with its next token`(_ engine: Engine)
        async throws
    {
        let tokens = Tokens()
        try await Race { test in
            try await test.makeZone()
            try await test.modify([create("Root")])
            try await test.shareTree("Root", with: [invite(TestCloud.bob)])
        } slow: { cloud in
            let page = try await Self.readFeed(since: nil, cloud)
            await tokens.take(page)
        } meanwhile: { test in
            let share = try await test.record("Share-Root")
            let accepted = try await test.accept(share?.shortGUID, by: TestCloud.bob).invitation
            #expect(accepted?.acceptance == .accepted)
        } check: { test in
            let seen = await tokens.page
            let later = try await Self.readFeed(since: seen?.syncToken, test.cloud)
            #expect((seen?.events ?? []).map(\.mark) + later.events.map(\.mark) == ["Z"])
        }.run(engine, stepsMin: 2)
    }

    /// The page that the slow process read last.
    private actor Tokens {
        private(set) var page: DatabaseChangesPage?

        func take(_ page: DatabaseChangesPage) { self.page = page }
    }
}
