import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Testing

/// Returns a user and account for tests of the code that the command line and the admin API share.
@Suite(.timeLimit(.minutes(20))) struct FaultOrderTests {
    private func ada(_ test: TestCloud) async throws -> (user: UserID, account: Account) {
        let accounts = test.cloud.accountStore.accounts
        let account = try await accounts.add(
            email: "ada@example.com", name: "Ada", proof: TestCloud.proof, derivation: accounts.newDerivation(rounds: 1)
        )
        let user = try await test.cloud.accountStore.userNames
            .name(of: account.id, in: TestCloud.container)
        return (user, account)
    }

    @Test(arguments: Engine.allCases)
    func `B-BKD-12 a compacted zone forgets its deletions, and tokens from before them expire`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            let user = try await ada(test).user
            let caller = Caller(user: user)
            try await test.makeZone(of: user)
            _ = try await test.modify([create("a", "Note"), create("b", "Note")], by: caller)
            let old = try await test.changes(by: caller).syncToken
            _ = try await test.modify([delete("a")], by: caller)
            let fresh = try await test.changes(by: caller).syncToken
            let receipt = try await RunFaultOrder(test.cloud).run(
                .compactZone("Z", of: .email("ada@example.com")), in: TestCloud.container, .development)
            #expect(receipt.forgotten == 1 && receipt.user == user)
            #expect(
                await failure { _ = try await test.changes(since: old, by: caller) }?.code == .changeTokenExpired)
            #expect(try await test.changes(since: fresh, by: caller).events.isEmpty)
        }
    }

    @Test func `a user is found by address or name, and unknown users are not`() async throws {
        try await withCloud { test in
            let user = try await ada(test).user
            try await test.makeZone(of: user)
            for person in [FaultOrder.Person.email("Ada@Example.com"), .user(user)] {
                let receipt = try await RunFaultOrder(test.cloud).run(
                    .expireTokens(of: person, zone: "Z"), in: TestCloud.container, .development)
                #expect(receipt.user == user)
            }
            for person in [
                FaultOrder.Person.email("bob@example.com"), .email("nonsense"), .user(TestCloud.bob), .user(UserID("")),
            ] {
                let refusal = await failure {
                    _ = try await RunFaultOrder(test.cloud).run(
                        .expireTokens(of: person, zone: nil), in: TestCloud.container, .development)
                }
                #expect(refusal?.code == .itemNotFound)
            }
            // The same name means no user in another container.
            let elsewhere = await failure {
                _ = try await RunFaultOrder(test.cloud).run(
                    .expireTokens(of: .user(user), zone: nil), in: ContainerID("iCloud.other"), .development)
            }
            #expect(elsewhere?.code == .itemNotFound)
        }
    }

    @Test func `a device is signed out by the first digits of its identifier, if they fit no other`() async throws {
        try await withCloud { test in
            let (_, account) = try await ada(test)
            let store = test.cloud.accountStore
            let token = try await store.apiTokens.create(
                container: TestCloud.container, environment: .development, name: "")
            // Devices until two of them begin with the same digit.
            var devices: [Character: [String]] = [:]
            while devices.values.allSatisfy({ $0.count < 2 }) {
                let grant = try await DeviceSignIn(store: store).create(
                    email: "ada@example.com", proof: TestCloud.proof, deviceName: "", lifetime: .device,
                    place: .init(container: TestCloud.container, environment: .development, apiToken: token.row),
                    address: "")
                devices[try #require(grant.deviceID.first), default: []].append(grant.deviceID)
            }
            let alike = try #require(devices.values.first { $0.count == 2 })
            func signOut(_ device: String) async throws -> FaultOutcome {
                try await RunFaultOrder(test.cloud).run(
                    .signOut(device: device, of: .email("ada@example.com")), in: TestCloud.container, .development)
            }
            func remaining() async throws -> Set<String> {
                Set(try await store.sessions.sessions(ofAccount: account.id).map(\.id)).intersection(alike)
            }
            let refusal = await failure { _ = try await signOut(String(alike[0].prefix(1))) }
            #expect(refusal?.code == .badRequest && refusal?.remedy == "Give more digits.")
            #expect(try await remaining() == Set(alike))
            #expect(await failure { _ = try await signOut("") }?.code == .itemNotFound)
            #expect(await failure { _ = try await signOut("nothing") }?.code == .itemNotFound)
            #expect(try await signOut(alike[0]).device?.id == alike[0])
            #expect(try await remaining() == [alike[1]])
        }
    }

    @Test func `nothing is ordered for production`() async throws {
        try await withCloud { test in
            _ = try await ada(test)
            let orders: [FaultOrder] = [
                .fault(.throttle, for: nil, seconds: 1, bytes: nil, sendsRetryAfter: true), .removeAllFaults,
                .purgeZone("Z", of: .email("ada@example.com")), .resetKeychain(of: .email("ada@example.com")),
            ]
            for order in orders {
                let refusal = await failure {
                    _ = try await RunFaultOrder(test.cloud).run(order, in: TestCloud.container, .production)
                }
                #expect(refusal?.code == .accessDenied)
            }
        }
    }

    @Test func `a container's orders are its own to take back`() async throws {
        try await withCloud { test in
            let other = ContainerID("iCloud.other")
            let order = FaultOrder.fault(.throttle, for: nil, seconds: nil, bytes: nil, sendsRetryAfter: false)
            let here = try await RunFaultOrder(test.cloud).run(order, in: TestCloud.container, .development)
            let there = try await RunFaultOrder(test.cloud).run(order, in: other, .development)
            let id = try #require(there.fault?.id)
            let refusal = await failure {
                _ = try await RunFaultOrder(test.cloud).run(.removeFault(id: id), in: TestCloud.container, .development)
            }
            #expect(refusal?.code == .itemNotFound)
            #expect(try await ListFaults(test.cloud).run(in: TestCloud.container).map(\.id) == [here.fault?.id])
            let removed = try await RunFaultOrder(test.cloud).run(
                .removeAllFaults, in: TestCloud.container, .development)
            #expect(removed.removed == 1)
            #expect(try await test.cloud.faults.list().map(\.id) == [id])
        }
    }
}
