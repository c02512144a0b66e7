import CloudKitModel
import Testing

@testable import CloudKitAccounts

/// Groups of accounts, and lists of people who are invited.
@Suite(.timeLimit(.minutes(20))) struct AccountGroupTests {
    private let people = TestAccounts()
    private static let derivation = PasswordDerivation(salt: [UInt8](repeating: 9, count: 16), rounds: 10)

    private func person(_ email: String, _ plan: AccountPlan = AccountPlan()) throws -> InvitedPerson {
        InvitedPerson(email: try #require(EmailAddress(email)), plan: plan)
    }

    private func signUp(_ email: String, _ code: String, name: String = "") async throws -> Account {
        try await SignUp(store: people.store, isOpen: false, roundsMin: 10).create(
            email: email, name: name, proof: TestAccounts.proof, derivation: Self.derivation, address: "10.0.0.1",
            invitation: code)
    }

    private func add(_ names: String...) async throws {
        for name in names {
            _ = try await people.accounts.add(
                email: name + "@example.com", name: "", proof: TestAccounts.proof, derivation: Self.derivation)
        }
    }

    @Test func `a group is listed, limited and disabled together`() async throws {
        try await add("ada", "ben", "eve")
        let group = try #require(AccountGroup("Class 7"))
        for name in ["ada", "ben"] { try await people.accounts.setGroup(group, email: name + "@example.com") }
        #expect(try await people.accounts.list(group: group).map(\.email) == ["ada@example.com", "ben@example.com"])
        #expect(try await people.accounts.setQuota(.bytes(7), group: group) == 2)
        #expect(try await people.accounts.setDisabled(true, group: group) == 2)
        #expect(try await people.accounts.list().map(\.quota) == [.bytes(7), .bytes(7), .cloud])
        #expect(try await people.accounts.list().map(\.isDisabled) == [true, true, false])
        try await people.accounts.setGroup(nil, email: "ada@example.com")
        #expect(try await people.accounts.setDisabled(false, group: group) == 1)
        #expect(try await people.accounts.list().map(\.isDisabled) == [true, false, false])
        let empty = try #require(AccountGroup("Class 8"))
        #expect(try await people.accounts.list(group: empty).isEmpty)
        await #expect(throws: AccountError.groupEmpty("Class 8")) {
            try await people.accounts.setQuota(.unlimited, group: empty)
        }
        await #expect(throws: AccountError.notFound("who@example.com")) {
            try await people.accounts.setGroup(group, email: "who@example.com")
        }
    }

    @Test func `a group has a name of one line`() {
        #expect(AccountGroup("7b, Ünïcode")?.name == "7b, Ünïcode")
        for name in ["", " ", " a", "a ", "a\nb", "a\u{2028}b", "a\u{7}", String(repeating: "a", count: 65)] {
            #expect(AccountGroup(name) == nil, "\(name)")
        }
    }

    @Test func `an invitation carries group, quota and name into the account`() async throws {
        let group = try #require(AccountGroup("staff"))
        let plan = AccountPlan(name: "Ada Lovelace", group: group, quota: .unlimited)
        let made = try await people.store.invitations.create(uses: 2, days: 1, plan: plan)
        let ada = try await signUp("ada@example.com", made.code)
        #expect(ada.name == "Ada Lovelace" && ada.group == "staff" && ada.quota == .unlimited)
        let ben = try await signUp("ben@example.com", made.code, name: "Ben")
        #expect(ben.name == "Ben")
        let plain = try await people.store.invitations.create(days: 1)
        let eve = try await signUp("eve@example.com", plain.code)
        #expect(eve.group == nil && eve.quota == .cloud)
    }

    @Test func `a list invites those who have neither an account nor an invitation, and done again changes nothing`()
        async throws
    {
        try await add("ada")
        let staff = AccountPlan(group: AccountGroup("staff"), quota: .bytes(5))
        let list = [
            try person("ada@example.com", staff), try person("ben@example.com", staff), try person("eve@example.com"),
        ]
        let invitations = people.store.invitations
        let dry = try await invitations.invite(list, days: 7, isDryRun: true)
        #expect(dry[0] == .account(isChanged: true))
        #expect(try await invitations.list().isEmpty)
        #expect(try await people.accounts.account(email: "ada@example.com")?.group == nil)

        let first = try await invitations.invite(list, days: 7)
        guard case .invited(let code, let row) = first[1], case .invited = first[2] else {
            Issue.record("nobody was invited: \(first)")
            return
        }
        #expect(first[0] == .account(isChanged: true))
        #expect(row.email == "ben@example.com" && row.group == "staff" && row.quota == .bytes(5))
        #expect(try await people.accounts.account(email: "ada@example.com")?.quota == .bytes(5))
        let rows = try await invitations.list()
        let again = try await invitations.invite(list, days: 7)
        #expect(again[0] == .account(isChanged: false))
        #expect(again[1] == .invitedBefore(row, isChanged: false))
        #expect(try await invitations.list() == rows)

        // Another group is taken over by the invitation, whose link goes on working.
        let moved = try await invitations.invite(
            [try person("ben@example.com", AccountPlan(group: AccountGroup("board")))], days: 7)
        guard case .invitedBefore(let changed, isChanged: true) = moved[0] else {
            Issue.record("the invitation did not change: \(moved)")
            return
        }
        #expect(changed.group == "board" && changed.quota == .bytes(5))
        #expect(try await signUp("ben@example.com", code).group == "board")
    }

    @Test func `an expired invitation is made again, and one in place of another ends the other`() async throws {
        let list = [try person("ben@example.com")]
        let invitations = people.store.invitations
        guard case .invited(let first, _) = try await invitations.invite(list, days: 1)[0] else { return }
        guard case .invited(let second, _) = try await invitations.invite(list, days: 1, isRepeated: true)[0] else {
            Issue.record("the invitation was not repeated")
            return
        }
        #expect(try await invitations.list().count == 1)
        await expect(.accessDenied) { _ = try await signUp("ben@example.com", first) }
        people.clock.advance(86_400_000)
        await expect(.accessDenied) { _ = try await signUp("ben@example.com", second) }
        guard case .invited(let third, _) = try await invitations.invite(list, days: 1)[0] else {
            Issue.record("an expired invitation was kept")
            return
        }
        _ = try await signUp("ben@example.com", third)
    }

    @Test func `a quota is a text of bytes, none or default`() {
        for quota in [AccountQuota.cloud, .unlimited, .bytes(0), .bytes(.max)] {
            #expect(AccountQuota(text: quota.text) == quota)
        }
        for text in ["", "-1", "1.5", "5 MB", "None"] { #expect(AccountQuota(text: text) == nil) }
    }
}
