import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Foundation
import Synchronization
import Testing

/// The effect of a keychain reset on zones (B-ZN-12, B-TM-12).
@Suite(.timeLimit(.minutes(20))) struct KeyResetTests {
    /// Ada with a device in the container of the test cloud, where her zones have her user name as their owner.
    private struct Ada {
        var device: DeviceKey
        var user: UserID
        var keychains: Keychains

        static let proof = [UInt8](repeating: 1, count: 32)

        init(_ cloud: TestCloud) async throws {
            let store = cloud.cloud.accountStore
            let accounts = store.accounts
            _ = try await accounts.add(
                email: "ada@example.com", name: "", proof: Self.proof, derivation: accounts.newDerivation(rounds: 1))
            let token = try await store.apiTokens.create(
                container: TestCloud.container, environment: .development, name: "")
            let grant = try await DeviceSignIn(store: store).create(
                email: "ada@example.com", proof: Self.proof, deviceName: "", lifetime: .device,
                place: .init(container: TestCloud.container, environment: .development, apiToken: token.row),
                address: "")
            device = DeviceKey(id: grant.deviceID, secret: try #require(grant.deviceSecret))
            user = grant.user
            keychains = store.keychains(ProofLimiter(roundsMin: 1))
            _ = try await keychains.create(Self.offer, by: device)
        }

        static let offer = KeychainUpload(
            passwordWrap: [1], recovery: RecoveryUpload(wrap: [1], proof: proof), identity: [1])

        func reset() async throws {
            _ = try await keychains.reset(
                to: Self.offer, replacing: 1, proof: .password(Self.proof), by: device, address: "")
        }
    }

    /// Makes the container's schema know an encrypted field.
    private func seal(_ cloud: TestCloud, by caller: Caller) async throws {
        let sealed = "\"" + Data([1] + [UInt8](repeating: 0, count: 60)).base64EncodedString() + "\""
        let field = Field(name: "secret", type: FieldType(.string, isEncrypted: true), json: Array(sealed.utf8))
        let change = RecordChange(
            recordName: "sealed", recordType: "Secret", fields: [.set(field)], protection: Protection(epoch: 0).stated()
        )
        let outcome = try await cloud.modify([RecordOperation(.create, change)], zone: "_defaultZone", by: caller)
        #expect(outcome[0].failure == nil)
    }

    @Test(arguments: Engine.allCases)
    func `B-ZN-12 zones with records report the reset, and the feed says why they were deleted`(engine: Engine)
        async throws
    {
        try await withCloud(engine) { cloud in
            let ada = try await Ada(cloud)
            let caller = Caller(user: ada.user, surface: .native)
            try await cloud.makeZone("Full", of: ada.user)
            try await cloud.makeZone("Empty", of: ada.user)
            try await cloud.modify([create("a")], zone: "Full", by: caller)
            try await cloud.modify([create("b")], zone: "_defaultZone", by: caller)
            try await seal(cloud, by: caller)
            func feed(since token: String? = nil) async throws -> DatabaseChangesPage {
                try await FetchDatabaseChanges(cloud.cloud).run(
                    DatabaseChangesRequest(syncToken: token), in: TestCloud.address(.private), by: caller)
            }
            let before = try await feed().syncToken
            try await ada.reset()
            try await FinishKeyResets(cloud.cloud).run()
            await expect(.zoneKeysReset) { _ = try await cloud.modify([create("c")], zone: "Full", by: caller) }
            try await cloud.modify([create("c")], zone: "Empty", by: caller)
            #expect(try await cloud.lookup(["b"], zone: "_defaultZone", by: caller)[0].record != nil)
            let zones = try await ListZones(cloud.cloud).run(in: TestCloud.address(.private), by: caller)
            #expect(zones.map(\.keyEpoch) == [1, 0])
            #expect(try await feed(since: before).events.map(\.mark).contains("†Full encryptedDataReset"))
            // The way back: delete, make again, save again.
            let back = try await ModifyZones(cloud.cloud).run(
                [.delete(ZoneID(zoneName: "Full")), .create(ZoneID(zoneName: "Full"))],
                in: TestCloud.address(.private), by: caller)
            #expect(back.allSatisfy { $0.failure == nil })
            try await cloud.modify([create("a")], zone: "Full", by: caller)
            // And nothing resets it twice.
            try await FinishKeyResets(cloud.cloud).run()
            #expect(try await cloud.lookup(["a"], zone: "Full", by: caller)[0].record != nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-ZN-12 a device with earlier keys neither changes nor reads after a reset, also in a current session`(
        engine: Engine
    ) async throws {
        try await withCloud(engine) { cloud in
            let ada = try await Ada(cloud)
            let old = Caller(user: ada.user, surface: .native, keychainGeneration: 1)
            let new = Caller(user: ada.user, surface: .native, keychainGeneration: 2)
            let browser = Caller(user: ada.user)
            try await cloud.makeZone("Empty", of: ada.user)
            try await cloud.modify([create("a")], zone: "_defaultZone", by: old)
            try await seal(cloud, by: old)
            try await ada.reset()
            try await FinishKeyResets(cloud.cloud).run()
            for zone in ["Empty", "_defaultZone"] {
                await expect(.accountTemporarilyUnavailable) {
                    _ = try await cloud.modify([create("b")], zone: zone, by: old)
                }
            }
            await expect(.accountTemporarilyUnavailable) {
                _ = try await ModifyZones(cloud.cloud).run(
                    [.create(ZoneID(zoneName: "New"))], in: TestCloud.address(.private), by: old)
            }
            for (name, caller) in [("c", new), ("d", browser)] {
                #expect(try await cloud.modify([create(name)], zone: "Empty", by: caller)[0].failure == nil)
            }
            func names(_ caller: Caller) async throws -> [String] {
                try await cloud.changes("Empty", by: caller).events.compactMap {
                    if case .changed(let record) = $0 { record.id.recordName } else { nil }
                }
            }
            await expect(.accountTemporarilyUnavailable) { _ = try await names(old) }
            #expect(try await names(new) == ["c", "d"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-ZN-12 also in a database that nothing was saved to before the reset`(engine: Engine) async throws {
        try await withCloud(engine) { cloud in
            let ada = try await Ada(cloud)
            try await ada.reset()
            try await FinishKeyResets(cloud.cloud).run()
            let old = Caller(user: ada.user, surface: .native, keychainGeneration: 1)
            await expect(.accountTemporarilyUnavailable) {
                _ = try await cloud.modify([create("a")], zone: "_defaultZone", by: old)
            }
        }
    }

    @Test func `a container without encrypted fields and assets keeps its zones`() async throws {
        try await withCloud { cloud in
            let ada = try await Ada(cloud)
            try await cloud.makeZone("Z", of: ada.user)
            try await cloud.modify([create("a")], by: Caller(user: ada.user))
            try await ada.reset()
            try await FinishKeyResets(cloud.cloud).run()
            #expect(try await cloud.lookup(["a"], by: Caller(user: ada.user))[0].record != nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-TM-12 where nothing is sealed, shares stay, and wait for keys from their owner's next device`(
        engine: Engine
    )
        async throws
    {
        try await withCloud(engine) { cloud in
            let ada = try await Ada(cloud)
            let caller = Caller(user: ada.user, surface: .native)
            func protected(_ name: String, below parent: String?, keys: [UInt8]) -> RecordOperation {
                var operation = create(name, parent: parent.map { .set(recordName: $0) } ?? .keep)
                operation.change.protection = Protection(epoch: 0, keys: keys)
                return operation
            }
            let slot = ParticipantChange(id: "p-bob", role: .administrator, permission: .readWrite, user: TestCloud.bob)
            let keys = ShareKeyChange(
                epoch: 1, blob: [9],
                wraps: [.init(participantID: "p-bob", bytes: [1], identity: String(repeating: "a", count: 64))])
            for zone in ["Z", "Plain"] { try await cloud.makeZone(zone, of: ada.user) }
            let outcomes = try await cloud.modify(
                [
                    protected("Root", below: nil, keys: [7, 7]), protected("Leaf", below: "Root", keys: [8, 8, 8]),
                    createShare(
                        "S", ShareChange(root: .init(recordName: "Root"), participants: [slot], keys: keys)),
                ], by: caller)
            #expect(outcomes.allSatisfy { $0.failure == nil })
            try await cloud.modify([protected("a", below: nil, keys: [7])], zone: "Plain", by: caller)
            try await cloud.accept(outcomes[2].record?.shortGUID, by: TestCloud.bob)
            let (_, token) = try await cloud.follow(by: TestCloud.bob, of: ada.user)
            try await ada.reset()
            try await FinishKeyResets(cloud.cloud).run()

            // Bob's feed reports only the share: the records are unchanged.
            #expect(try await cloud.follow(since: token, by: TestCloud.bob, of: ada.user).marks == ["S"])
            let records = try await cloud.lookup(["Root", "Leaf", "S"], by: caller).map(\.record)
            #expect(records.map { $0?.protection } == [nil, nil, nil])
            #expect(records[1]?.changeTag == outcomes[1].record?.changeTag)
            let share = try #require(records[2]?.sharing)
            #expect(share.keys == nil)
            #expect(share.participants.map(\.role) == [.owner, .administrator])
            #expect(share.participants.last?.keyIdentity == nil && share.participants.last?.grantEpoch == nil)
            #expect(try await cloud.lookup(["a"], zone: "Plain", by: caller)[0].record?.protection == nil)
            let zones = try await ListZones(cloud.cloud).run(in: TestCloud.address(.private), by: caller)
            #expect(zones.map(\.keyEpoch) == [0, 1, 1])

            // The next keys are above all that there were, and none of those is shown again.
            func store(_ epoch: Int) async throws -> ShareKeysAnswer {
                try await StoreShareKeys(cloud.cloud).run(
                    StoreShareKeysRequest(
                        zoneID: ZoneID(zoneName: "Z"), recordName: "S",
                        change: ShareKeyChange(epoch: epoch, begins: true, blob: [5])),
                    in: TestCloud.address(.private), by: caller)
            }
            await expect(.staleKeyEpoch) { _ = try await store(1) }
            #expect(try await store(2).keys.epochs.map(\.blob) == [[5], nil])
            let bobs = try await cloud.sharedLookup(["S"], of: ada.user, by: TestCloud.bob)[0].record?.sharing?.keys
            #expect(bobs?.epochs.map(\.wrap) == [nil, nil])
        }
    }

    @Test func `a reset that a crash interrupted is finished by the outbox, and no request is admitted before`()
        async throws
    {
        try await withCloud { cloud in
            let ada = try await Ada(cloud)
            let caller = Caller(user: ada.user, surface: .native)
            try await cloud.makeZone("Z", of: ada.user)
            try await cloud.modify([create("a")], by: caller)
            try await seal(cloud, by: caller)
            try await ada.reset()
            // A crash at this point; sign-in waits.
            await expect(.tryAgainLater) {
                _ = try await cloud.lookup(["a"], by: Caller(user: ada.user, keychain: .resetting))
            }
            try await RunOutbox(cloud.restarted()).run()
            await expect(.zoneKeysReset) { _ = try await cloud.modify([create("b")], by: caller) }
        }
    }

    /// Lets two processes finish one reset: before each step of the slow one, the other finishes all of it, the owner's
    /// device continues, and then the slow one does.
    ///
    /// - Parameters:
    ///   - prepare: Fills the owner's zones.
    ///   - goOn: The owner's next actions.
    ///   - look: Returns the state that must not change from then on.
    private func finishTwice(
        _ engine: Engine, prepare: (TestCloud, Caller) async throws -> Void,
        goOn: @escaping @Sendable (TestCloud, Caller) async throws -> Void,
        look: @escaping @Sendable (TestCloud, Caller) async throws -> [String]
    ) async throws {
        var step = 0
        var hasInterrupted = true
        while hasInterrupted {
            try await withCloud(engine) { cloud in
                let ada = try await Ada(cloud)
                let caller = Caller(user: ada.user, surface: .native)
                try await prepare(cloud, caller)
                try await ada.reset()
                let before = Mutex<[String]?>(nil)
                let late = InterruptedStore(cloud.store, before: step) {
                    try await FinishKeyResets(cloud.cloud).run()
                    try await goOn(cloud, caller)
                    let value = try await look(cloud, caller)
                    before.withLock { $0 = value }
                }
                try await FinishKeyResets(
                    Cloud(store: late, files: cloud.files, serverEnvironment: cloud.time.serverEnvironment)
                ).run()
                hasInterrupted = late.hasInterrupted
                guard hasInterrupted else { return }
                let after = try await look(cloud, caller)
                #expect(after == before.withLock(\.self), "before step \(step)")
            }
            step += 1
        }
        #expect(step > 5)
    }

    private static func epochs(_ cloud: TestCloud, _ caller: Caller) async throws -> [UInt32] {
        try await ListZones(cloud.cloud).run(in: TestCloud.address(.private), by: caller).map(\.keyEpoch)
    }

    @Test(arguments: Engine.allCases)
    func `B-ZN-12 of two devices that finish a reset at once neither deletes the zones that its owner makes afterwards`(
        engine: Engine
    )
        async throws
    {
        try await finishTwice(engine) { cloud, caller in
            try await cloud.makeZone("Full", of: caller.user ?? TestCloud.ada)
            try await cloud.modify([create("a")], zone: "Full", by: caller)
            try await seal(cloud, by: caller)
        } goOn: { cloud, caller in
            _ = try await ModifyZones(cloud.cloud).run(
                [.delete(ZoneID(zoneName: "Full")), .create(ZoneID(zoneName: "Full"))],
                in: TestCloud.address(.private), by: caller)
            try await cloud.modify([create("a")], zone: "Full", by: caller)
        } look: { cloud, caller in
            let records = try await cloud.lookup(["a"], zone: "Full", by: caller)
            return ["\(String(describing: records[0].record?.changeTag))", "\(try await Self.epochs(cloud, caller))"]
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-TM-12 of two devices that finish a reset at once neither removes the keys that its owner makes afterwards`(
        engine: Engine
    )
        async throws
    {
        @Sendable func protected(_ kind: RecordOperation.Kind, _ name: String, epoch: UInt32) -> RecordOperation {
            var operation = create(name)
            operation.kind = kind
            operation.change.protection = Protection(epoch: epoch, keys: [7])
            return operation
        }
        try await finishTwice(engine) { cloud, caller in
            for zone in ["Plain", "Z"] { try await cloud.makeZone(zone, of: caller.user ?? TestCloud.ada) }
            let share = ShareChange(root: .init(recordName: "Root"), keys: ShareKeyChange(epoch: 1, blob: [9]))
            try await cloud.modify([protected(.create, "Root", epoch: 0), createShare("S", share)], by: caller)
            try await cloud.modify([protected(.create, "a", epoch: 0)], zone: "Plain", by: caller)
        } goOn: { cloud, caller in
            let epochs = try await Self.epochs(cloud, caller)
            let next = ShareKeyChange(epoch: Int(epochs[2]) + 1, begins: true, blob: [5])
            _ = try await StoreShareKeys(cloud.cloud).run(
                StoreShareKeysRequest(zoneID: ZoneID(zoneName: "Z"), recordName: "S", change: next),
                in: TestCloud.address(.private), by: caller)
            try await cloud.modify([protected(.forceUpdate, "a", epoch: epochs[1])], zone: "Plain", by: caller)
        } look: { cloud, caller in
            let share = try await cloud.lookup(["S"], by: caller)[0].record?.sharing?.keys
            let records = try await cloud.lookup(["a"], zone: "Plain", by: caller)
            return [
                "\(share?.epochs.map(\.blob) ?? [])", "\(records.map(\.record?.protection))",
                "\(try await Self.epochs(cloud, caller))",
            ]
        }
    }

    @Test func `B-ACC-02 a device with outdated keys reaches neither private nor shared data, but public`()
        async throws
    {
        try await withCloud { cloud in
            try await cloud.makeZone()
            let caller = Caller(user: TestCloud.ada, surface: .native, keychain: .outdated)
            for scope in [DatabaseScope.private, .shared] {
                await expect(.accountTemporarilyUnavailable) {
                    _ = try await cloud.lookup(["a"], in: scope, by: caller)
                }
            }
            #expect(try await cloud.lookup(["a"], zone: "_defaultZone", in: .public, by: caller).count == 1)
        }
    }
}
