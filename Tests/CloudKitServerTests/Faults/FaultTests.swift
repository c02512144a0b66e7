import CloudKitModel
import CloudKitServer
import Testing

@Suite struct FaultTests {
    @Test(arguments: Engine.allCases)
    func `B-THR-02 a throttled user waits, others and production go on`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            let faults = test.cloud.faults
            _ = try await faults.order(.throttle, for: TestCloud.ada, seconds: 20)
            let refusal = try #require(
                await failure { try await faults.check(TestCloud.ada, in: TestCloud.container, .development) })
            #expect(refusal.code == .throttled && refusal.retryAfter == 20)
            try await faults.check(TestCloud.bob, in: TestCloud.container, .development)
            try await faults.check(TestCloud.ada, in: TestCloud.container, .production)
            test.time.advance(20_000)
            try await faults.check(TestCloud.ada, in: TestCloud.container, .development)
            #expect(try await faults.list().isEmpty)
        }
    }

    @Test func `B-ACC-08 a managed account is restricted, apps without a user are not`() async throws {
        try await withCloud { test in
            let faults = test.cloud.faults
            _ = try await faults.order(.managedAccountRestricted, in: TestCloud.container)
            let refusal = await failure { try await faults.check(TestCloud.ada, in: TestCloud.container, .development) }
            #expect(refusal?.code == .managedAccountRestricted && refusal?.retryAfter == nil)
            try await faults.check(nil, in: TestCloud.container, .development)
        }
    }

    @Test func `a fault that another process orders is seen within a second`() async throws {
        try await withCloud { test in
            try await test.cloud.faults.check(nil, in: TestCloud.container, .development)
            let other = test.restarted()
            let fault = try await other.faults.order(.unavailable, in: TestCloud.container)
            test.time.advance(1_000)
            let refusal = await failure {
                try await test.cloud.faults.check(nil, in: TestCloud.container, .development)
            }
            #expect(refusal?.code == .tryAgainLater)
            #expect(try await other.faults.remove(fault.id))
            #expect(try await other.faults.remove(fault.id) == false)
            test.time.advance(1_000)
            try await test.cloud.faults.check(nil, in: TestCloud.container, .development)
        }
    }

    @Test func `B-THR-01 an ordered quota holds for its user alone`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            try await test.makeZone(of: TestCloud.bob)
            _ = try await test.cloud.faults.order(.quota, for: TestCloud.ada, bytes: 10)
            let refused = try await test.modify([create("r", "Note", text("title", "too much for ten bytes"))])
            #expect(refused[0].failure?.code == .quotaExceeded)
            let saved = try await test.modify(
                [create("r", "Note", text("title", "Bob has room"))], by: Caller(user: TestCloud.bob))
            #expect(saved[0].failure == nil)
            try await test.cloud.faults.removeAll()
            #expect(try await test.modify([create("r", "Note", text("title", "space again"))])[0].failure == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-CHG-09 expired tokens are refused, and a fetch from the beginning gives good ones`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            _ = try await test.modify([create("r", "Note", text("title", "one"))])
            let zone = try await test.changes().syncToken
            let database = try await test.databaseChanges().syncToken
            try await ExpireTokens(test.cloud).run(
                ofZone: "Z", of: TestCloud.ada, in: TestCloud.container, .development)
            try await ExpireTokens(test.cloud).run(ofDatabaseOf: TestCloud.ada, in: TestCloud.container, .development)
            #expect(await failure { _ = try await test.changes(since: zone) }?.code == .changeTokenExpired)
            #expect(await failure { _ = try await test.databaseChanges(since: database) }?.code == .changeTokenExpired)
            let again = try await test.changes()
            #expect(again.events.count == 1)
            #expect(try await test.changes(since: again.syncToken).events.isEmpty)
            let feed = try await test.databaseChanges()
            #expect(try await test.databaseChanges(since: feed.syncToken).events.isEmpty)
        }
    }
}
