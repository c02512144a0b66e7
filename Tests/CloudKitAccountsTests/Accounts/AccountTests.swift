import CloudKitAccounts
import CloudKitModel
import Testing

@Suite(.timeLimit(.minutes(20))) struct AccountTests {
    let people = TestAccounts()

    @Test func `an account is found by its address however that is written`() async throws {
        let account = try await people.addAda()
        #expect(try await people.accounts.account(email: " ADA@Example.COM ") == account)
        #expect(try await people.accounts.account(email: "eve@example.com") == nil)
    }

    @Test func `an address belongs to one account`() async throws {
        try await people.addAda()
        await #expect(throws: AccountError.emailTaken("ada@example.com")) {
            try await people.accounts.add(
                email: "Ada@example.com", name: "", proof: TestAccounts.proof,
                derivation: people.accounts.newDerivation(rounds: 1))
        }
    }

    @Test(arguments: ["", "ada", "@example.com", "ada@", "a@b@c", "a da@example.com", "ada@exam\nple.com"])
    func `an invalid address creates no account`(email: String) async throws {
        await #expect(throws: AccountError.emailInvalid(email)) {
            try await people.accounts.add(
                email: email, name: "", proof: TestAccounts.proof, derivation: people.accounts.newDerivation(rounds: 1))
        }
    }

    @Test func `a removed account leaves nothing and its address is free again`() async throws {
        try await people.addAda()
        let (place, _) = try await people.place()
        _ = try await people.signIn.create(
            email: "ada@example.com", proof: TestAccounts.proof, deviceName: "", lifetime: .device, place: place,
            address: "")
        try await people.accounts.remove(email: "ada@example.com")
        for prefix in ["account/", "email/", "session", "user", "key"] {
            #expect(try await people.entries(prefix: prefix).isEmpty)
        }
        try await people.addAda()
    }

    @Test func `a password is verified by its proof alone`() {
        let password = PasswordVerifier(proof: TestAccounts.proof, salt: [1], rounds: 1, verifierSalt: [2])
        #expect(password.matches(TestAccounts.proof))
        #expect(!password.matches([UInt8](repeating: 2, count: 32)))
        #expect(!password.matches([]))
    }

    @Test func `B-USR-01 a user has one name in a container and another in another`() async throws {
        let account = try await people.addAda()
        let names = people.store.userNames
        let first = try await names.name(of: account.id, in: people.container)
        #expect(try await names.name(of: account.id, in: people.container) == first)
        #expect(try await names.name(of: account.id, in: .init("iCloud.other")) != first)
        #expect(first.recordName.wholeMatch(of: /_[0-9a-f]{32}/) != nil)
    }

    @Test func `B-LIM-16 an account's quota takes the place of the cloud's until it is the default again`()
        async throws
    {
        let account = try await people.addAda()
        #expect(account.quota == .cloud)
        let settings: [(AccountQuota, own: UInt64?, withoutCloud: UInt64?)] = [
            (.bytes(5), own: 5, withoutCloud: 5), (.bytes(0), own: 0, withoutCloud: 0),
            (.bytes(.max), own: .max, withoutCloud: .max), (.unlimited, own: nil, withoutCloud: nil),
            (.cloud, own: 9, withoutCloud: nil),
        ]
        for (quota, own, withoutCloud) in settings {
            try await people.accounts.setQuota(quota, email: "Ada@Example.com")
            let stored = try #require(try await people.accounts.account(id: account.id))
            #expect(stored.quota == quota)
            #expect(stored.quota.bytes(cloud: 9) == own)
            #expect(stored.quota.bytes(cloud: nil) == withoutCloud)
        }
        // The row of an account with the cloud's quota is that of an account that never had another.
        #expect(try await people.accounts.account(id: account.id) == account)
        await #expect(throws: AccountError.notFound("eve@example.com")) {
            try await people.accounts.setQuota(.bytes(1), email: "eve@example.com")
        }
    }

    @Test func `B-LIM-16 a remembered quota is read again after its time, or at once when asked`() async throws {
        let account = try await people.addAda()
        let user = try await people.store.userNames.name(of: account.id, in: people.container)
        let quotas = AccountQuotas(store: people.store, cacheLifetime: 5_000)
        #expect(try await quotas.quota(of: user, in: people.container) == .cloud)
        try await people.accounts.setQuota(.bytes(1), email: "ada@example.com")
        people.clock.advance(4_999)
        #expect(try await quotas.quota(of: user, in: people.container) == .cloud)
        people.clock.advance(1)
        #expect(try await quotas.quota(of: user, in: people.container) == .bytes(1))
        try await people.accounts.setQuota(.unlimited, email: "ada@example.com")
        #expect(try await quotas.quota(of: user, in: people.container) == .bytes(1))
        quotas.forget()
        #expect(try await quotas.quota(of: user, in: people.container) == .unlimited)
        #expect(try await quotas.quota(of: UserID("_nobody"), in: people.container) == .cloud)
        // A clock that was set back does not make the answer last.
        try await people.accounts.setQuota(.cloud, email: "ada@example.com")
        people.clock.advance(-86_400_000)
        #expect(try await quotas.quota(of: user, in: people.container) == .cloud)
    }

    @Test func `B-LIM-16 a damaged quota is an error, not the cloud's quota`() async throws {
        let account = try await people.addAda()
        let user = try await people.store.userNames.name(of: account.id, in: people.container)
        try await people.store.write { $0.set(Account.table.stored(account.id), Array(#"{"quota":1.5}"#.utf8)) }
        let quotas = AccountQuotas(store: people.store, cacheLifetime: 0)
        await #expect(throws: DecodingError.self) { try await quotas.quota(of: user, in: people.container) }
    }

    @Test func `B-LIM-16 an account's quota in a container comes before its own, and that before the container's`()
        async throws
    {
        let account = try await people.addAda()
        let elsewhere = ContainerID("iCloud.com.example.elsewhere")
        let quotas = AccountQuotas(store: people.store, cacheLifetime: 0)
        func found(_ container: ContainerID) async throws -> AccountQuota {
            let user = try await people.store.userNames.name(of: account.id, in: container)
            return try await quotas.quota(of: user, in: container)
        }
        try await people.accounts.setQuota(.bytes(1), in: people.container)
        #expect(try await people.accounts.quota(in: people.container) == .bytes(1))
        #expect(try await found(people.container) == .bytes(1))
        #expect(try await found(elsewhere) == .cloud)
        try await people.accounts.setQuota(.bytes(2), email: "ada@example.com")
        #expect(try await found(people.container) == .bytes(2))
        #expect(try await found(elsewhere) == .bytes(2))
        try await people.accounts.setQuota(.unlimited, email: "ada@example.com", in: people.container)
        #expect(try await found(people.container) == .unlimited)
        #expect(try await found(elsewhere) == .bytes(2))
        try await people.accounts.setQuota(.cloud, email: "ada@example.com", in: people.container)
        try await people.accounts.setQuota(.cloud, email: "ada@example.com")
        #expect(try await found(people.container) == .bytes(1))
        try await people.accounts.setQuota(.cloud, in: people.container)
        #expect(try await found(people.container) == .cloud)
        #expect(try await people.accounts.quota(in: people.container) == .cloud)
    }
}
