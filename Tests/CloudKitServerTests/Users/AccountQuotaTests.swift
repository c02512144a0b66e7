import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Testing

@Suite(.timeLimit(.minutes(20))) struct AccountQuotaTests {
    private static let kilobyte = String(repeating: "x", count: 1000)

    /// Creates an account; returns its user.
    private func addUser(_ name: String, to test: TestCloud) async throws -> UserID {
        let accounts = test.cloud.accountStore.accounts
        let account = try await accounts.add(
            email: name + "@example.com", name: name, proof: TestCloud.proof,
            derivation: accounts.newDerivation(rounds: 1))
        return try await test.cloud.accountStore.userNames.name(of: account.id, in: TestCloud.container)
    }

    /// Sets the quota of an account, which the cloud notices.
    private func setQuota(_ quota: AccountQuota, of name: String, in test: TestCloud) async throws {
        try await test.cloud.accountStore.accounts.setQuota(quota, email: name + "@example.com")
        test.cloud.accountQuotas.forget()
    }

    /// Saves a kilobyte under each name; returns the codes of the failures.
    private func save(
        _ names: [String], in test: TestCloud, by user: UserID
    ) async throws -> [RequestFailure.Code?] {
        try await test.modify(
            names.map { create($0, "Note", text("a", Self.kilobyte)) }, zone: "_defaultZone", atomic: false,
            by: Caller(user: user)
        ).map(\.code)
    }

    @Test(arguments: Engine.allCases)
    func `B-LIM-16 an account's quota is its own, and what is stored beyond it stays`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            let ada = try await addUser("ada", to: test)
            let bob = try await addUser("bob", to: test)
            try await setQuota(.bytes(3000), of: "ada", in: test)
            let names = ["A", "B", "C", "D"]
            #expect(try await save(names, in: test, by: ada) == [nil, nil, .quotaExceeded, .quotaExceeded])
            #expect(try await save(names, in: test, by: bob) == [nil, nil, nil, nil])
            // What is there stays and can be deleted.
            try await setQuota(.bytes(0), of: "ada", in: test)
            #expect(try await test.lookup(["A"], zone: "_defaultZone", by: Caller(user: ada))[0].record != nil)
            #expect(try await save(["C"], in: test, by: ada) == [.quotaExceeded])
            let deleted = try await test.modify([delete("A")], zone: "_defaultZone", by: Caller(user: ada))
            #expect(deleted[0].isDeleted)
            try await setQuota(.cloud, of: "ada", in: test)
            #expect(try await save(["C", "D", "E"], in: test, by: ada) == [nil, nil, nil])
        }
    }

    @Test func `B-LIM-16 an account's quota may be larger than the cloud's, or none`() async throws {
        var limits = Limits()
        limits.quotaBytes = 1500
        try await withCloud(limits: limits) { test in
            let ada = try await addUser("ada", to: test)
            #expect(try await save(["A", "B"], in: test, by: ada) == [nil, .quotaExceeded])
            try await setQuota(.bytes(3000), of: "ada", in: test)
            #expect(try await save(["B", "C"], in: test, by: ada) == [nil, .quotaExceeded])
            try await setQuota(.unlimited, of: "ada", in: test)
            #expect(try await save(["C", "D", "E"], in: test, by: ada) == [nil, nil, nil])
            // A fault orders a smaller one on top.
            _ = try await test.cloud.faults.order(.quota, in: TestCloud.container, for: ada, bytes: 100)
            #expect(try await save(["F"], in: test, by: ada) == [.quotaExceeded])
        }
    }

    @Test func `B-LIM-16 B-AST-06 assets count to an account's quota, in its private database alone`() async throws {
        try await withCloud { test in
            let ada = try await addUser("ada", to: test)
            try await setQuota(.bytes(5000), of: "ada", in: test)
            let caller = Caller(user: ada)
            _ = try await test.upload([UInt8](repeating: 1, count: 4000), zone: "_defaultZone", by: caller)
            await expect(.quotaExceeded) {
                _ = try await test.upload([UInt8](repeating: 2, count: 6000), zone: "_defaultZone", by: caller)
            }
            _ = try await test.upload(
                [UInt8](repeating: 2, count: 6000), zone: "_defaultZone", in: .public, by: caller)
        }
    }
}
