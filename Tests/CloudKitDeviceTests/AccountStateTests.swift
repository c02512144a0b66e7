import CloudKitDevice
import Testing

@Suite(.timeLimit(.minutes(20))) struct AccountStateTests {
    private static func state(_ email: String, _ id: String, _ accountID: String? = nil) -> AccountState {
        .available(AccountState.Device(email: email, id: id, accountID: accountID))
    }

    @Test(arguments: [
        // Another address, or another sign-in.
        (state("b@example.com", "1", "x"), false), (state("a@example.com", "2", "x"), false),
        (state("b@example.com", "2", "x"), false),
        // Another account, of any address.
        (state("b@example.com", "2", "y"), true), (state("a@example.com", "2", "y"), true), (.noAccount, false),
    ])
    func `B-ACC-03 users are known by their accounts, not by their addresses`(now: AccountState, isOther: Bool) {
        #expect(now.isOtherUser(than: Self.state("a@example.com", "1", "x")) == isOther)
    }

    @Test(arguments: [
        (state("a@example.com", "2"), false), (state("b@example.com", "2"), true), (state("b@example.com", "1"), false),
        // A profile that an earlier version made, and then another user's.
        (state("a@example.com", "2", "x"), true),
    ])
    func `B-ACC-03 a profile of an earlier version knows its user by the address`(now: AccountState, isOther: Bool) {
        #expect(now.isOtherUser(than: Self.state("a@example.com", "1")) == isOther)
    }
}
