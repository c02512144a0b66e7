import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import Testing

@Suite(.timeLimit(.minutes(20))) struct AccountDeletionTests {
    private static let place = "192.0.2.1"
    private static let week: Int64 = 7 * 86_400_000

    private func account(_ name: String, _ test: TestCloud) async throws -> Account {
        let accounts = test.cloud.accountStore.accounts
        return try await accounts.add(
            email: name + "@example.com", name: name, proof: TestCloud.proof,
            derivation: accounts.newDerivation(rounds: 1))
    }

    private func signIn(
        _ name: String, keepsAccount: Bool = false, _ test: TestCloud
    ) async throws -> (device: DeviceKey, user: UserID) {
        let token = try await test.cloud.accountStore.apiTokens.create(
            container: TestCloud.container, environment: .development, name: "test")
        let grant = try await DeviceSignIn(store: test.cloud.accountStore).create(
            email: name + "@example.com", proof: TestCloud.proof, deviceName: "Test", lifetime: .device,
            place: .init(container: TestCloud.container, environment: .development, apiToken: token.row),
            address: Self.place, keepsAccount: keepsAccount)
        return (DeviceKey(id: grant.deviceID, secret: grant.deviceSecret ?? []), grant.user)
    }

    private func request(_ device: DeviceKey, _ test: TestCloud) async throws -> AccountDeletion {
        try await test.cloud.accountStore.deletions.request(
            by: .device(device), proof: .password(TestCloud.proof), grace: Self.week, address: Self.place,
            ProofLimiter())
    }

    @Test(arguments: Engine.allCases)
    func `an account is deleted when its time is over, and nothing of the person stays`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            let ada = try await account("ada", test)
            _ = try await account("bob", test)
            let (device, user) = try await signIn("ada", test)
            let (_, bob) = try await signIn("bob", test)
            try await test.makeZone(of: user)
            _ = try await test.modify([create("a", "Note", text("title", "x"))], by: Caller(user: user))
            let deletion = try await request(device, test)
            #expect(deletion.due == test.time.now + Self.week)
            let store = test.cloud.accountStore
            #expect(try await store.sessions.sessions(of: ada).isEmpty)
            // Nothing else has changed for others.
            #expect(try await DeleteDueAccounts(test.cloud).run().isEmpty)
            #expect(try await test.lookup(["a"], by: Caller(user: user))[0].record != nil)
            test.time.advance(Self.week)
            let deleted = try await DeleteDueAccounts(test.cloud).run()
            #expect(deleted.map(\.account.id) == [ada.id] && deleted.map(\.data.records) == [1])
            #expect(try await store.accounts.account(id: ada.id) == nil)
            #expect(try await store.deletions.all().isEmpty)
            #expect(try await store.accounts.account(email: "bob@example.com") != nil)
            let partition = StoragePartition.privateDatabase(TestCloud.container, .development, of: user)
            #expect(try await test.cloud.store.read(partition) { try await $0.zones(limit: .max) }.isEmpty)
            #expect(bob != user)
            #expect(try await DeleteDueAccounts(test.cloud).run().isEmpty)
            // The address is free again, and is another person.
            #expect(try await account("ada", test).id != ada.id)
        }
    }

    @Test func `a sign-in in time takes the wish back only if the person says so`() async throws {
        try await withCloud { test in
            let ada = try await account("ada", test)
            let (device, _) = try await signIn("ada", test)
            _ = try await request(device, test)
            // The device is out, and cannot ask again.
            let refused = await #expect(throws: RequestFailure.self) { try await request(device, test) }
            #expect(refused?.code == .authenticationFailed)
            let restricted = await #expect(throws: RequestFailure.self) { try await signIn("ada", test) }
            #expect(restricted?.code == .accountRestricted)
            #expect(restricted?.reason == "this account is going to be deleted within 7 days, as its owner asked")
            _ = try await signIn("ada", keepsAccount: true, test)
            #expect(try await test.cloud.accountStore.deletions.deletion(ofAccount: ada.id) == nil)
            test.time.advance(Self.week)
            #expect(try await DeleteDueAccounts(test.cloud).run().isEmpty)
            _ = try await signIn("ada", test)
        }
    }

    @Test func `a deletion that has begun goes on after a crash, and cannot be taken back`() async throws {
        struct Crash: Error {}
        try await withCloud { test in
            let ada = try await account("ada", test)
            let (device, user) = try await signIn("ada", test)
            try await test.makeZone(of: user)
            _ = try await request(device, test)
            test.time.advance(Self.week)
            await #expect(throws: Crash.self) {
                _ = try await DeleteDueAccounts(test.cloud).run { _ in throw Crash() }
            }
            await #expect(throws: RequestFailure.self) { try await signIn("ada", keepsAccount: true, test) }
            #expect(try await DeleteDueAccounts(test.cloud).run().map(\.account.id) == [ada.id])
        }
    }

    @Test func `a wrong password deletes nothing`() async throws {
        try await withCloud { test in
            let ada = try await account("ada", test)
            let (device, _) = try await signIn("ada", test)
            let failure = await #expect(throws: RequestFailure.self) {
                try await test.cloud.accountStore.deletions.request(
                    by: .device(device), proof: .password([UInt8](repeating: 2, count: 32)), grace: 0,
                    address: Self.place,
                    ProofLimiter())
            }
            #expect(failure?.reason == "wrong password")
            #expect(try await test.cloud.accountStore.sessions.sessions(of: ada).count == 1)
            #expect(try await test.cloud.accountStore.deletions.all().isEmpty)
        }
    }
}
