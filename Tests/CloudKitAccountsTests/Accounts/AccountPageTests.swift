import CloudKitAccounts
import Testing

/// Accounts as lists of operators show them.
@Suite(.timeLimit(.minutes(5))) struct AccountPageTests {
    let people = TestAccounts()

    private func add(_ email: String) async throws -> Account {
        try await people.accounts.add(
            email: email, name: "", proof: TestAccounts.proof, derivation: people.accounts.newDerivation(rounds: 1))
    }

    @Test func `accounts are read a bounded number at a time, in the order of their addresses`() async throws {
        for name in ["cleo", "ada", "eve", "bob", "dan"] { _ = try await add("\(name)@example.com") }
        let first = try await people.accounts.page(prefix: "", limit: 2)
        #expect(first.map(\.email) == ["ada@example.com", "bob@example.com"])
        let second = try await people.accounts.page(prefix: "", after: first.last?.email, limit: 2)
        #expect(second.map(\.email) == ["cleo@example.com", "dan@example.com"])
        #expect(try await people.accounts.page(prefix: "", after: "dan@example.com", limit: 2).count == 1)
        #expect(try await people.accounts.page(prefix: "", after: "zoe@example.com", limit: 2).isEmpty)
    }

    @Test func `the beginning of an address finds it in any case, also with characters beyond ASCII`() async throws {
        _ = try await add("ada@example.com")
        _ = try await add("ädam@example.com")
        #expect(try await people.accounts.page(prefix: " AD", limit: 9).map(\.email) == ["ada@example.com"])
        // Written with a combining mark, it is the same address.
        #expect(try await people.accounts.page(prefix: "A\u{308}D", limit: 9).map(\.email) == ["ädam@example.com"])
        #expect(try await people.accounts.page(prefix: "b", after: "a", limit: 9).isEmpty)
        #expect(try await people.accounts.page(prefix: "ada@example.com/", limit: 9).isEmpty)
    }

    @Test func `an account is found by twelve digits of its id, not by fewer`() async throws {
        let account = try await add("ada@example.com")
        #expect(account.shownID.count == 12 && account.id.hasPrefix(account.shownID))
        #expect(try await people.accounts.account(idPrefix: account.shownID) == account)
        #expect(try await people.accounts.account(idPrefix: String(account.shownID.dropLast())) == nil)
        #expect(try await people.accounts.account(idPrefix: "000000000000") == nil)
    }
}
