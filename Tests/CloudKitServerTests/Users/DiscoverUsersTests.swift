import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import IdentityDirectory
import Testing

@Suite struct DiscoverUsersTests {
    private let address = TestCloud.address(.public)
    private let caller = Caller(user: TestCloud.ada)

    /// An account with a phone number, and its user.
    private func addBea(_ test: TestCloud) async throws -> UserID {
        let accounts = test.cloud.accountStore.accounts
        let account = try await accounts.add(
            email: "bea@example.com", name: "Bea Smith", proof: TestCloud.proof,
            derivation: accounts.newDerivation(rounds: 1))
        try await accounts.addPhoneNumber("+44 1632 960083", email: "bea@example.com")
        return try await test.cloud.accountStore.userNames.name(of: account.id, in: TestCloud.container)
    }

    private func lookups(_ user: UserID) -> [LookupInfo] {
        [
            LookupInfo(emailAddress: " Bea@Example.com"), LookupInfo(phoneNumber: "0044 1632 960083"),
            LookupInfo(user: user), LookupInfo(addressHash: AddressHash.of("bea@example.com")),
            LookupInfo(addressHash: AddressHash.of("+441632960083")),
        ]
    }

    private func find(_ lookups: [LookupInfo], _ test: TestCloud) async throws -> [PersonIdentity] {
        try await DiscoverUsers(test.cloud).run(lookups, in: address, by: caller)
    }

    @Test func `B-ACC-05, B-ACC-07 people are found once they agreed, by address, number, name and hash`() async throws
    {
        try await withCloud { test in
            let bea = try await addBea(test)
            let accounts = test.cloud.accountStore.accounts
            #expect(try await find(lookups(bea), test).isEmpty)
            try await accounts.setDiscoverable(true, email: "bea@example.com")
            let found = try await find(lookups(bea) + [LookupInfo(emailAddress: "none@example.com")], test)
            #expect(found.map(\.lookup) == lookups(bea))
            #expect(found.allSatisfy { $0.user == bea && $0.givenName == "Bea" && $0.familyName == "Smith" })
            #expect(found.allSatisfy { $0.publicIdentity == nil })
            try await accounts.setDiscoverable(false, email: "bea@example.com")
            #expect(try await find(lookups(bea), test).isEmpty)
        }
    }

    @Test func `B-ACC-05 people are not found where they never were, while disabled, or removed`() async throws {
        try await withCloud { test in
            let bea = try await addBea(test)
            let accounts = test.cloud.accountStore.accounts
            try await accounts.setDiscoverable(true, email: "bea@example.com")
            let elsewhere = DatabaseAddress(
                container: ContainerID("iCloud.com.example.other"), environment: .development, scope: .public)
            let other = try await DiscoverUsers(test.cloud).run(lookups(bea), in: elsewhere, by: caller)
            #expect(other.isEmpty)
            #expect(try await test.cloud.accountStore.userNames.all(of: "").isEmpty)
            try await accounts.setDisabled(true, email: "bea@example.com")
            #expect(try await find(lookups(bea), test).isEmpty)
            try await accounts.setDisabled(false, email: "bea@example.com")
            try await accounts.removePhoneNumber("+441632960083", email: "bea@example.com")
            #expect(try await find(lookups(bea), test).count == 3)
            try await accounts.remove(email: "bea@example.com")
            #expect(try await find(lookups(bea), test).isEmpty)
        }
    }

    @Test func `B-ACC-05 look-ups are counted, found or not, so that addresses cannot be tried out`()
        async throws
    {
        var limits = Limits()
        limits.peopleLookupsMax = 10
        let unknown = (0..<10).map { LookupInfo(emailAddress: "\($0)@example.com") }
        try await withCloud(limits: limits) { test in
            let all = try await find(unknown, test)
            #expect(all.isEmpty)
            let refusal: RequestFailure? = await failure { _ = try await find([unknown[0]], test) }
            #expect(refusal?.code == .throttled)
            #expect(refusal?.retryAfter == 360)
            await expect(.throttled) {
                _ = try await LookupParticipants(test.cloud).run([unknown[0]], in: address, by: caller)
            }
            test.time.advance(360_000)
            let one = try await find([unknown[0]], test)
            #expect(one.isEmpty)
            await expect(.authenticationRequired) {
                _ = try await DiscoverUsers(test.cloud).run(unknown, in: address, by: .anonymous)
            }
        }
    }

    @Test func `B-PRT-05 a phone number belongs to one account`() async throws {
        try await withCloud { test in
            _ = try await addBea(test)
            let accounts = test.cloud.accountStore.accounts
            _ = try await accounts.add(
                email: "eve@example.com", name: "", proof: TestCloud.proof,
                derivation: accounts.newDerivation(rounds: 1))
            await #expect(throws: AccountError.phoneNumberTaken("+441632960083")) {
                try await accounts.addPhoneNumber("+441632960083", email: "eve@example.com")
            }
            await #expect(throws: AccountError.phoneNumberInvalid("01632 960083")) {
                try await accounts.addPhoneNumber("01632 960083", email: "eve@example.com")
            }
            await #expect(throws: AccountError.phoneNumberUnknown("+441632960083")) {
                try await accounts.removePhoneNumber("+441632960083", email: "eve@example.com")
            }
            for number in 0..<Accounts.phoneNumbersMax {
                try await accounts.addPhoneNumber("+44163296010\(number)", email: "eve@example.com")
            }
            await #expect(throws: AccountError.tooManyPhoneNumbers("eve@example.com")) {
                try await accounts.addPhoneNumber("+441632960200", email: "eve@example.com")
            }
        }
    }
}
