import CloudKitModel
import Testing

@testable import CloudKitAccounts

/// People's permissions for operators to see their private data, and the sessions of the Console in which they were shown.
@Suite(.timeLimit(.minutes(20))) struct ConsoleConsentTests {
    private let people = TestAccounts()
    private var consents: ConsoleConsents { people.store.consoleConsents }
    private var sessions: ConsoleSessions { ConsoleSessions(store: people.store, limiter: ProofLimiter()) }

    /// Opens a session of an operator; its cookie.
    private func open() async throws -> String {
        try await sessions.open(token: people.store.operatorTokens.create(name: "operator").token, address: "10.0.0.1")
    }

    private func session(_ cookie: String) async throws -> ConsoleSession {
        try #require(try await sessions.current(cookie)).session
    }

    private func give(_ account: String, minutes: Int64 = 60) async throws -> (token: String, id: String) {
        let made = try await consents.create(
            account: account, container: people.container, environment: .development, lifetime: minutes * 60_000,
            allowsChanges: false)
        return (made.token, made.row.id)
    }

    private func show(
        _ token: String, in cookie: String, _ environment: CloudKitModel.Environment = .development
    ) async throws {
        _ = try await consents.show(
            token, in: session(cookie), container: people.container, environment: environment)
    }

    private func current(
        _ account: String, in cookie: String, _ environment: CloudKitModel.Environment = .development
    ) async throws -> String? {
        try await consents.current(
            in: session(cookie), account: account, container: people.container, environment: environment)?.id
    }

    @Test func `a consent holds in the session in which it was shown, for its account and place`() async throws {
        let (mine, other) = (try await open(), try await open())
        let given = try await give("ada")
        #expect(try await current("ada", in: mine) == nil)
        try await show(given.token, in: mine)
        #expect(try await current("ada", in: mine) == given.id)
        #expect(try await current("ada", in: other) == nil)
        #expect(try await current("bob", in: mine) == nil)
        #expect(try await current("ada", in: mine, .production) == nil)
        await expect(.accessDenied) { try await show(given.token, in: mine, .production) }
        await expect(.accessDenied) { try await show("nonsense", in: mine) }
    }

    @Test func `a consent ends with its time, and when the person takes it back`() async throws {
        let cookie = try await open()
        let (short, long) = (try await give("ada", minutes: 1), try await give("ada"))
        for token in [long.token, short.token] { try await show(token, in: cookie) }
        #expect(try await current("ada", in: cookie) == short.id)
        people.clock.advance(60_000)
        #expect(try await current("ada", in: cookie) == long.id)
        await expect(.accessDenied) { try await show(short.token, in: cookie) }
        #expect(try await consents.revoke(nil, account: "ada").map(\.id) == [long.id])
        #expect(try await current("ada", in: cookie) == nil)
        await expect(.accessDenied) { try await show(long.token, in: cookie) }
    }

    @Test func `a session keeps the 20 consents that were shown last`() async throws {
        let cookie = try await open()
        var ids: [String] = []
        for number in 0..<22 {
            let given = try await give("person\(number)")
            ids.append(given.id)
            // Shown again, one takes no second place.
            for _ in 0..<2 { try await show(given.token, in: cookie) }
        }
        for (number, id) in ids.enumerated() {
            #expect(try await current("person\(number)", in: cookie) == (number < 2 ? nil : id))
        }
    }

    @Test func `a person gives 20 consents at a time, of one minute to seven days`() async throws {
        for _ in 0..<20 { _ = try await give("ada") }
        await expect(.badRequest) { _ = try await give("ada") }
        _ = try await give("bob")
        people.clock.advance(3_600_000)
        _ = try await give("ada")
        for minutes in [0, 7 * 1440 + 1] as [Int64] {
            await expect(.badRequest) { _ = try await give("ada", minutes: minutes) }
        }
        _ = try await give("ada", minutes: 7 * 1440)
    }
}
