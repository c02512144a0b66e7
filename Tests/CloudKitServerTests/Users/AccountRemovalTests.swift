import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import OrderedStore
import Testing

@Suite(.timeLimit(.minutes(20))) struct AccountRemovalTests {
    private func person(_ name: String, _ test: TestCloud) async throws -> (user: UserID, account: Account) {
        let accounts = test.cloud.accountStore.accounts
        let account = try await accounts.add(
            email: name + "@example.com", name: name, proof: TestCloud.proof,
            derivation: accounts.newDerivation(rounds: 1))
        let user = try await test.cloud.accountStore.userNames
            .name(of: account.id, in: TestCloud.container)
        return (user, account)
    }

    private func share(_ zone: String, of owner: UserID, with member: UserID, _ test: TestCloud) async throws {
        let change = ShareChange(publicPermission: ParticipantPermission.none, participants: [invite(member)])
        let outcome = try await test.modify(
            [createShare(Share.zoneWideName, change)], zone: zone, by: Caller(user: owner))[0]
        let guid = try #require(outcome.record?.shortGUID)
        #expect(try await test.accept(guid, by: member).invitation != nil)
    }

    @Test(arguments: Engine.allCases)
    func `an account's private records go, those of others and public ones stay`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            let ada = try await person("ada", test)
            let bob = try await person("bob", test)
            for user in [ada.user, bob.user] {
                let caller = Caller(user: user)
                try await test.makeZone(of: user)
                _ = try await test.modify([create("a", "Note", text("title", "x")), create("b")], by: caller)
                _ = try await test.modify([create("c")], zone: "_defaultZone", by: caller)
            }
            _ = try await test.modify(
                [create("p")], zone: "_defaultZone", in: .public, by: Caller(user: ada.user))
            let removed = try await RemoveAccountData(test.cloud).run(ofAccount: ada.account.id)
            #expect(removed.records == 3 && removed.databases == 1 && removed.shares == 0)

            let asAda = Caller(user: ada.user)
            let zones = try await ListZones(test.cloud).run(in: TestCloud.address(.private), by: asAda)
            #expect(zones.map(\.id.zoneName) == ["_defaultZone"])
            #expect(try await test.lookup(["c"], zone: "_defaultZone", by: asAda)[0].code == .itemNotFound)
            #expect(try await test.lookup(["a", "b"], by: Caller(user: bob.user)).allSatisfy { $0.record != nil })
            #expect(
                try await test.lookup(["p"], zone: "_defaultZone", in: .public, by: .anonymous)[0].record != nil)
            let again = try await RemoveAccountData(test.cloud).run(ofAccount: ada.account.id)
            #expect(again.records == 0)
            let accounts = test.cloud.accountStore.accounts
            try await accounts.remove(email: "ada@example.com")
            #expect(try await accounts.account(email: "ada@example.com") == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `files of private records go at once, those of others and public ones stay`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            let ada = try await person("ada", test)
            let bob = try await person("bob", test)
            func store(_ text: String, of user: UserID, in scope: DatabaseScope = .private) async throws -> AssetValue {
                let caller = Caller(user: user)
                let sent = try await test.upload(
                    Array(text.utf8), zone: "_defaultZone", in: scope, by: caller)
                let outcome = try await test.modify(
                    [create("R", "Note", try asset("photo", sent))], zone: "_defaultZone", in: scope, by: caller)[0]
                return try #require(try outcome.record?.assets().first)
            }
            _ = try await store("Ada's", of: ada.user)
            let (bobs, sharedByAll) = (
                try await store("Bob's", of: bob.user), try await store("everybody's", of: ada.user, in: .public)
            )
            // Uploaded, and not yet in any record.
            _ = try await test.upload([1], for: "S", zone: "_defaultZone", by: Caller(user: ada.user))
            #expect(try await test.fileIDs().count == 4)
            #expect(try await RemoveAccountData(test.cloud).run(ofAccount: ada.account.id).files == 2)
            #expect(try await test.fileIDs().count == 2)
            #expect(try await test.download(bobs) == Array("Bob's".utf8))
            #expect(try await test.download(sharedByAll) == Array("everybody's".utf8))
        }
    }

    /// A server may remember a session for some seconds, and requests may be under way.
    @Test(arguments: Engine.allCases)
    func `what devices send after their account's data was removed is refused`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            let ada = try await person("ada", test)
            let bob = try await person("bob", test)
            let late = Caller(user: ada.user, keychainGeneration: 1)
            try await test.makeZone("Bobs", of: bob.user)
            let invitation = ShareChange(publicPermission: ParticipantPermission.none, participants: [invite(ada.user)])
            let share = try await test.modify(
                [createShare(Share.zoneWideName, invitation)], zone: "Bobs", by: Caller(user: bob.user))[0]
            _ = try await test.modify(
                [create("p")], zone: "_defaultZone", in: .public, by: Caller(user: bob.user))
            func subscribe(_ scope: DatabaseScope) async throws {
                _ = try await ModifySubscriptions(test.cloud).run(
                    [.create(TestCloud.query("S"))], in: TestCloud.address(scope), by: late)
            }
            try await subscribe(.public)
            _ = try await RemoveAccountData(test.cloud).run(ofAccount: ada.account.id)
            let publicDatabase = StoragePartition.publicDatabase(TestCloud.container, .development)
            let (subscriptions, count) = try await test.cloud.store.read(publicDatabase) { view in
                (
                    try await view.subscriptions(of: ada.user, in: .public),
                    try await view.databaseHeader().subscriptionCount
                )
            }
            #expect(subscriptions.isEmpty && count == 0)
            for attempt in 0..<8 {
                let failure = await #expect(throws: RequestFailure.self) {
                    switch attempt {
                    case 0: _ = try await test.modify([create("c")], zone: "_defaultZone", by: late)
                    case 1: try await test.makeZone("Z", of: ada.user)
                    case 2: try await subscribe(.public)
                    case 3: try await subscribe(.private)
                    case 4:
                        _ = try await PushTokens(test.cloud).create(
                            clientID: "phone", service: "development", in: TestCloud.container, .development, by: late)
                    case 5:
                        if case .failed(let failure) = try await test.accept(share.record?.shortGUID, by: ada.user) {
                            throw failure
                        }
                    case 6: _ = try await test.upload([1, 2, 3], zone: "_defaultZone", by: late)
                    default:
                        _ = try await test.modify(
                            [create("c")], zone: "_defaultZone", by: Caller(user: ada.user))
                    }
                }
                #expect(failure?.code == .authenticationRequired, "attempt \(attempt)")
            }
            let rows = try await test.cloud.store.read(
                .privateDatabase(TestCloud.container, .development, of: ada.user)
            ) { try await $0.scan(KeyRange(lower: DatabaseHeader.key + [0], upper: [0xFF]), limit: .max) }
            #expect(rows.isEmpty)
            let again = try await RemoveAccountData(test.cloud).run(ofAccount: ada.account.id)
            #expect(again.records == 0)
        }
    }

    @Test func `a removed user's shared records are gone for others, and the user leaves the shares of others`()
        async throws
    {
        try await withCloud { test in
            let ada = try await person("ada", test)
            let bob = try await person("bob", test)
            try await test.makeZone("Adas", of: ada.user)
            try await test.makeZone("Bobs", of: bob.user)
            try await share("Adas", of: ada.user, with: bob.user, test)
            try await share("Bobs", of: bob.user, with: ada.user, test)
            let shared = TestCloud.address(.shared)
            #expect(try await ListZones(test.cloud).run(in: shared, by: Caller(user: bob.user)).count == 1)
            let known = try await FetchDatabaseChanges(test.cloud).run(
                DatabaseChangesRequest(), in: shared, by: Caller(user: bob.user))
            let removed = try await RemoveAccountData(test.cloud).run(ofAccount: ada.account.id)
            #expect(removed.shares == 1)
            #expect(try await ListZones(test.cloud).run(in: shared, by: Caller(user: bob.user)).isEmpty)
            let changes = try await FetchDatabaseChanges(test.cloud).run(
                DatabaseChangesRequest(), in: shared, by: Caller(user: bob.user))
            #expect(changes.events.isEmpty)
            // The member's devices are told, as when the owner deletes the zone.
            let told = try await FetchDatabaseChanges(test.cloud).run(
                DatabaseChangesRequest(syncToken: known.syncToken), in: shared, by: Caller(user: bob.user))
            #expect(told.events == [.deleted(ZoneID(zoneName: "Adas", owner: ada.user), .deleted)])
        }
    }
}
