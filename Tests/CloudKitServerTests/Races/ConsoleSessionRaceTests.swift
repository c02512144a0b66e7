import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Synchronization
import Testing

/// Requests of one session of the Console that come at once, to two processes.
@Suite(.timeLimit(.minutes(20))) struct ConsoleSessionRaceTests {
    private static func sessions(_ cloud: Cloud) -> ConsoleSessions {
        ConsoleSessions(store: cloud.accountStore, limiter: ProofLimiter())
    }

    @Test func `a consent that is shown while another request notes the use of its session stays`() async throws {
        let cookie = Mutex("")
        let given = Mutex("")
        try await Race { test in
            let store = test.cloud.accountStore
            let token = try await store.operatorTokens.create(name: "operator").token
            let opened = try await Self.sessions(test.cloud).open(token: token, address: "10.0.0.1")
            let consent = try await store.consoleConsents.create(
                account: "ada", container: TestCloud.container, environment: .development, lifetime: 86_400_000,
                allowsChanges: false)
            cookie.withLock { $0 = opened }
            given.withLock { $0 = consent.token }
            test.time.advance(3_600_000)
        } slow: { cloud in
            let found = try await Self.sessions(cloud).current(cookie.withLock(\.self))
            #expect(found != nil)
        } meanwhile: { test in
            let session = try #require(try await Self.sessions(test.cloud).current(cookie.withLock(\.self))).session
            _ = try await test.cloud.accountStore.consoleConsents.show(
                given.withLock(\.self), in: session, container: TestCloud.container, environment: .development)
        } check: { test in
            let session = try #require(try await Self.sessions(test.cloud).current(cookie.withLock(\.self))).session
            let consent = try await test.cloud.accountStore.consoleConsents.current(
                in: session, account: "ada", container: TestCloud.container, environment: .development)
            #expect(consent != nil)
            #expect(session.used == test.time.now)
        }.run(stepsMin: 2)
    }
}
