import CloudKitModel
import CloudKitServer
import Testing

@Suite(.timeLimit(.minutes(20))) struct ShareKeyTests {
    private let id = "11111111-2222-3333-4444-555555555555"

    private func wrap(_ id: String, _ byte: UInt8) -> ShareKeyChange.Wrap {
        .init(participantID: id, bytes: [byte, byte])
    }

    private func bob(_ id: String) -> ParticipantChange {
        ParticipantChange(id: id, permission: .readWrite, user: TestCloud.bob)
    }

    private func withKeys(
        _ engine: Engine = .memory, _ body: (TestCloud, Record) async throws -> Void
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let keys = ShareKeyChange(epoch: 1, blob: [9], wraps: [wrap(id, 1)])
            let outcomes = try await test.modify([
                create("Root"),
                createShare(
                    "S",
                    ShareChange(
                        root: .init(recordName: "Root"), participants: [bob(id), invite(TestCloud.cyd)], keys: keys)),
            ])
            try await body(test, try #require(outcomes[1].record))
        }
    }

    private func keys(_ test: TestCloud, by user: UserID) async throws -> ShareKeysAnswer {
        let owner = user == TestCloud.ada ? UserID.caller : TestCloud.ada
        return try await FetchShareKeys(test.cloud).run(
            ShareKeysRequest(zoneID: ZoneID(zoneName: "Z", owner: owner), recordName: "S"),
            in: TestCloud.address(user == TestCloud.ada ? .private : .shared), by: Caller(user: user))
    }

    private func store(_ change: ShareKeyChange, _ test: TestCloud, by user: UserID = TestCloud.ada) async throws {
        let owner = user == TestCloud.ada ? UserID.caller : TestCloud.ada
        _ = try await StoreShareKeys(test.cloud).run(
            StoreShareKeysRequest(zoneID: ZoneID(zoneName: "Z", owner: owner), recordName: "S", change: change),
            in: TestCloud.address(user == TestCloud.ada ? .private : .shared), by: Caller(user: user))
    }

    @Test(arguments: Engine.allCases)
    func `B-TM-06 each participant gets a wrap, and administrators are informed of participants without one`(
        _ engine: Engine
    )
        async throws
    {
        try await withKeys(engine) { test, share in
            #expect(share.sharing?.keys?.epoch == 1)
            let waiting = share.sharing?.keys?.waiting ?? []
            #expect(waiting.count == 1)
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            try await test.accept(share.shortGUID, by: TestCloud.cyd)
            #expect(
                try await test.share("S", by: TestCloud.bob)?.keys?.epochs == [
                    ShareKeyEpoch(epoch: 1, blob: [9], wrap: [1, 1])
                ])
            let forCyd = try await test.share("S", by: TestCloud.cyd)?.keys
            #expect(forCyd?.epochs == [ShareKeyEpoch(epoch: 1, blob: [9])])
            #expect(forCyd?.waiting == [])
            #expect(try await keys(test, by: TestCloud.ada).waiting.map(\.identity.user) == [TestCloud.cyd])
            let (_, token) = try await test.follow(by: TestCloud.cyd)
            try await store(ShareKeyChange(epoch: 1, wraps: [wrap(waiting[0], 2)]), test)
            #expect(try await test.follow(since: token, by: TestCloud.cyd).marks == ["S"])
            #expect(try await keys(test, by: TestCloud.cyd).keys.epochs.first?.wrap == [2, 2])
            #expect(try await keys(test, by: TestCloud.ada).waiting.isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-TM-05 the end of a share that has keys begins a key epoch of its zone`(_ engine: Engine)
        async throws
    {
        for deleted in ["S", "Root"] {
            try await withKeys(engine) { test, _ in
                func epoch() async throws -> UInt32? {
                    try await LookupZones(test.cloud).run(
                        [ZoneID(zoneName: "Z")], in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))[0]
                        .zone?.keyEpoch
                }
                #expect(try await epoch() == 0)
                try await test.modify([delete(deleted)])
                #expect(try await epoch() == 1)
                // So that a later share never has the epochs of an earlier one, its first is the one after the zone's.
                func share(_ epoch: Int) async throws -> RecordOutcome {
                    let change = ShareChange(keys: ShareKeyChange(epoch: epoch, blob: [9]))
                    return try await test.modify([createShare(Share.zoneWideName, change)])[0]
                }
                #expect(try await share(1).code == .staleKeyEpoch)
                #expect(try await share(2).record?.sharing?.keys?.epoch == 2)
                _ = try await ModifyZones(test.cloud).run(
                    [.delete(ZoneID(zoneName: "Z")), .create(ZoneID(zoneName: "Z"))], in: TestCloud.address(.private),
                    by: Caller(user: TestCloud.ada))
                #expect(try await epoch() == 2)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-TM-05 the root of a share that has ended leaves no tree when it enters another one`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify([create("Root"), create("Child", parent: .set(recordName: "Root"))])
            let change = ShareChange(root: .init(recordName: "Child"), keys: ShareKeyChange(epoch: 1, blob: [9]))
            let first = try await test.modify([createShare("S", change)])[0]
            #expect(first.code == nil)
            try await test.modify([delete("S")])
            func epoch() async throws -> UInt32? {
                try await LookupZones(test.cloud).run(
                    [ZoneID(zoneName: "Z")], in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))[0]
                    .zone?.keyEpoch
            }
            #expect(try await epoch() == 1)
            // Sealed under the epoch that the end of the share began, which no participant has.
            let child = RecordChange(
                recordName: "Child", recordType: "Note", fields: [.set(sealedField("text", epoch: 1))],
                protection: Protection(epoch: 1).stated())
            let device = Caller(user: TestCloud.ada, deviceID: "d", surface: .native)
            let saved = try await test.modify([RecordOperation(.forceUpdate, child)], by: device)[0]
            #expect(saved.code == nil)
            try await test.shareTree("Root", with: [bob(id)])
            #expect(try await epoch() == 1)
        }
    }

    @Test func `B-TM-05 a removal makes a new epoch due, and epochs are compared and set`() async throws {
        try await withKeys { test, share in
            try await test.accept(share.shortGUID, by: TestCloud.cyd)
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            #expect(try await keys(test, by: TestCloud.ada).keys.needsNewEpoch == false)
            try await test.modify([delete("S")], of: TestCloud.ada, by: TestCloud.bob)
            #expect(try await keys(test, by: TestCloud.ada).keys.needsNewEpoch)
            #expect(try await keys(test, by: TestCloud.cyd).keys.needsNewEpoch == false)
            await expect(.staleShareKeyEpoch) { try await store(ShareKeyChange(epoch: 3), test) }
            await expect(.accessDenied) { try await store(ShareKeyChange(epoch: 2), test, by: TestCloud.cyd) }
            await expect(.badRequest) { try await store(ShareKeyChange(epoch: 2, wraps: [wrap(id, 3)]), test) }
            let cyd = try #require(try await keys(test, by: TestCloud.ada).waiting.first?.id)
            try await store(ShareKeyChange(epoch: 2, blob: [8], link: [7], wraps: [wrap(cyd, 4)]), test)
            let held = try await keys(test, by: TestCloud.cyd).keys
            #expect(held.epoch == 2)
            #expect(
                held.epochs == [
                    ShareKeyEpoch(epoch: 2, blob: [8], link: [7], wrap: [4, 4]), ShareKeyEpoch(epoch: 1, blob: [9]),
                ])
            #expect(try await keys(test, by: TestCloud.ada).keys.needsNewEpoch == false)
            await expect(.staleShareKeyEpoch) { try await store(ShareKeyChange(epoch: 1), test) }
            await expect(.sizeLimitExceeded) {
                try await store(ShareKeyChange(epoch: 2, blob: Array(repeating: 0, count: 5_000)), test)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-TM-05 an administrator begins an epoch that is due, of share and zone, with a key for the owner`(
        _ engine: Engine
    ) async throws {
        try await withKeys(engine) { test, share in
            func epochOfZone() async throws -> UInt32? {
                try await LookupZones(test.cloud).run(
                    [ZoneID(zoneName: "Z")], in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))[0]
                    .zone?.keyEpoch
            }
            let guid = share.shortGUID
            let share = try #require(share.sharing)
            let owner = try #require(share.owner?.id)
            let cyd = try #require(share.participants.first { $0.identity.user == TestCloud.cyd }?.id)
            try await test.accept(guid, by: TestCloud.bob)
            try await test.accept(guid, by: TestCloud.cyd)
            let bob = ParticipantChange(id: id, role: .administrator)
            try await test.changeShare("S", ShareChange(participants: [bob, ParticipantChange(id: cyd)]))
            try await store(ShareKeyChange(epoch: 1, wraps: [wrap(id, 1), wrap(cyd, 1)]), test)
            let next = ShareKeyChange(epoch: 2, blob: [8], wraps: [wrap(owner, 2), wrap(id, 3)])
            // No participant was removed; and the owner derives the keys of their own epochs.
            await expect(.staleShareKeyEpoch) { try await store(next, test, by: TestCloud.bob) }
            await expect(.badRequest) {
                try await store(ShareKeyChange(epoch: 1, wraps: [wrap(owner, 2)]), test, by: TestCloud.bob)
            }
            await expect(.badRequest) { try await store(next, test) }
            try await test.changeShare("S", ShareChange(participants: [bob]), by: TestCloud.bob)
            await expect(.badRequest) {
                try await store(ShareKeyChange(epoch: 2, wraps: [wrap(id, 3)]), test, by: TestCloud.bob)
            }
            #expect(try await epochOfZone() == 0)
            try await store(next, test, by: TestCloud.bob)
            // Another device that meant to begin it, too, must not put another key in its place.
            var late = ShareKeyChange(epoch: 2, begins: true, wraps: [wrap(id, 9)])
            await expect(.staleShareKeyEpoch) { try await store(late, test) }
            await expect(.staleShareKeyEpoch) { try await store(late, test, by: TestCloud.bob) }
            late = ShareKeyChange(epoch: 3, begins: false, wraps: [wrap(id, 9)])
            await expect(.staleShareKeyEpoch) { try await store(late, test) }
            #expect(try await epochOfZone() == 1)
            let held = try await keys(test, by: TestCloud.ada).keys
            #expect(held.epochs.first == ShareKeyEpoch(epoch: 2, blob: [8], wrap: [2, 2]))
            #expect(held.needsNewEpoch == false)
            #expect(try await keys(test, by: TestCloud.bob).keys.epochs.first?.wrap == [3, 3])
            await expect(.staleShareKeyEpoch) {
                try await store(ShareKeyChange(epoch: 3, wraps: [wrap(owner, 2)]), test, by: TestCloud.bob)
            }
            // The owner's follows, and another one is due as soon as Bob is an administrator no more.
            try await store(ShareKeyChange(epoch: 3, wraps: [wrap(id, 4)]), test)
            try await store(ShareKeyChange(epoch: 3, wraps: [wrap(id, 5)]), test)
            #expect(try await epochOfZone() == 2)
            #expect(try await keys(test, by: TestCloud.ada).keys.needsNewEpoch == false)
            try await test.changeShare(
                "S", ShareChange(participants: [ParticipantChange(id: id, role: .privateUser)]))
            #expect(try await keys(test, by: TestCloud.ada).keys.needsNewEpoch)
            await expect(.accessDenied) {
                try await store(ShareKeyChange(epoch: 4, wraps: [wrap(owner, 2)]), test, by: TestCloud.bob)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-TM-05 where a link admits any user, the owner alone begins an epoch that is due`(
        _ engine: Engine
    ) async throws {
        try await withKeys(engine) { test, share in
            let guid = share.shortGUID
            let share = try #require(share.sharing)
            let owner = try #require(share.owner?.id)
            let cyd = try #require(share.participants.first { $0.identity.user == TestCloud.cyd }?.id)
            try await test.accept(guid, by: TestCloud.bob)
            try await test.accept(guid, by: TestCloud.cyd)
            let bob = ParticipantChange(id: id, role: .administrator)
            try await test.changeShare("S", ShareChange(participants: [bob, ParticipantChange(id: cyd)]))
            try await store(ShareKeyChange(epoch: 1, wraps: [wrap(id, 1), wrap(cyd, 1)]), test)
            try await test.changeShare("S", ShareChange(participants: [bob]))
            try await test.changeShare("S", ShareChange(publicPermission: .readOnly))
            #expect(try await keys(test, by: TestCloud.ada).keys.needsNewEpoch)
            let next = ShareKeyChange(epoch: 2, blob: [8], wraps: [wrap(owner, 2), wrap(id, 3)])
            await expect(.staleShareKeyEpoch) { try await store(next, test, by: TestCloud.bob) }
            // Without the link the same change is an administrator's as well.
            try await test.changeShare("S", ShareChange(publicPermission: ParticipantPermission.none))
            try await store(next, test, by: TestCloud.bob)
            #expect(try await keys(test, by: TestCloud.ada).keys.epoch == 2)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-TM-05 a sealed record leaves a tree under the zone's next key epoch alone`(
        _ engine: Engine
    ) async throws {
        try await withKeys(engine) { test, _ in
            let device = Caller(user: TestCloud.ada, deviceID: "d", surface: .native)
            func epochOfZone() async throws -> UInt32? {
                try await LookupZones(test.cloud).run(
                    [ZoneID(zoneName: "Z")], in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))[0]
                    .zone?.keyEpoch
            }
            func saveSealed(
                _ protection: Protection, _ parent: ParentChange, after held: RecordOutcome? = nil
            ) async throws -> RecordOutcome {
                let change = RecordChange(
                    recordName: "Child", recordType: "Note",
                    fields: [.set(sealedField("text", epoch: protection.epoch))], changeTag: held?.record?.changeTag,
                    parent: parent, protection: protection)
                return try await test.modify([RecordOperation(held == nil ? .create : .update, change)], by: device)[0]
            }
            let first = Protection(epoch: 0).stated()
            let inside = try await saveSealed(first, .set(recordName: "Root"))
            #expect(inside.failure == nil)
            // The tree's members have the keys of this epoch.
            let outside = try await saveSealed(Protection(epoch: 0).stated(2, after: first), .remove, after: inside)
            #expect(outside.code == .staleKeyEpoch)
            #expect(try await test.record("Child")?.parent == "Root")
            try await store(ShareKeyChange(epoch: 2, blob: [8], wraps: [wrap(id, 3)]), test)
            #expect(try await epochOfZone() == 1)
            let moved = try await saveSealed(Protection(epoch: 1).stated(2, after: first), .remove, after: inside)
            #expect(moved.failure == nil && moved.record?.parent == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-TM-06, B-TM-12 a key that goes to another identity than the last one makes a new epoch due`(
        _ engine: Engine
    ) async throws {
        try await withKeys(engine) { test, share in
            func wrap(_ identity: String) -> ShareKeyChange.Wrap {
                .init(participantID: id, bytes: [1], identity: identity)
            }
            func slot() async throws -> ShareParticipant? {
                try await test.share("S")?.participants.first { $0.id == id }
            }
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            try await test.accept(share.shortGUID, by: TestCloud.cyd)
            try await test.changeShare(
                "S", ShareChange(participants: [ParticipantChange(id: id, role: .administrator)]))
            try await store(ShareKeyChange(epoch: 1, wraps: [wrap("first")]), test)
            try await store(ShareKeyChange(epoch: 1, wraps: [wrap("first")]), test)
            #expect(try await slot()?.keyIdentity == "first")
            #expect(try await slot()?.grantEpoch == 1)
            #expect(try await keys(test, by: TestCloud.ada).keys.needsNewEpoch == false)
            #expect(
                try await test.share("S", by: TestCloud.bob)?.participants.first { $0.id == id }?.keyIdentity
                    == "first")
            // An administrator has no right to hand on, and their old one is of no use to them.
            try await store(ShareKeyChange(epoch: 1, wraps: [wrap("second")]), test, by: TestCloud.bob)
            #expect(try await slot()?.keyIdentity == "second")
            #expect(try await slot()?.grantEpoch == nil)
            #expect(try await keys(test, by: TestCloud.ada).keys.needsNewEpoch)
            // In a new epoch no participant has a key yet.
            try await store(ShareKeyChange(epoch: 2, wraps: [wrap("third")]), test)
            #expect(try await keys(test, by: TestCloud.ada).keys.needsNewEpoch == false)
            await expect(.sizeLimitExceeded) {
                try await store(
                    ShareKeyChange(epoch: 2, wraps: [wrap(String(repeating: "f", count: 65))]), test)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-TM-06 each statement follows the stored one, and the newest epoch's is shown`(
        _ engine: Engine
    ) async throws {
        try await withKeys(engine) { test, share in
            func statement(_ counter: Int, _ byte: UInt8) -> ShareKeyChange.Statement {
                .init(counter: counter, bytes: [byte])
            }
            func shown() async throws -> [[UInt8]?] {
                try await test.share("S")?.keys?.epochs.map(\.statement) ?? []
            }
            #expect(try await shown() == [nil])
            for counter in [0, 2, -1] {
                await expect(.staleShareKeyEpoch) {
                    try await store(ShareKeyChange(epoch: 1, statement: statement(counter, 1)), test)
                }
            }
            try await store(ShareKeyChange(epoch: 1, statement: statement(1, 1)), test)
            await expect(.staleShareKeyEpoch) {
                try await store(ShareKeyChange(epoch: 1, statement: statement(1, 2)), test)
            }
            try await store(ShareKeyChange(epoch: 1, wraps: [wrap(id, 2)]), test)
            try await store(ShareKeyChange(epoch: 1, statement: statement(2, 2)), test)
            #expect(try await shown() == [[2]])
            try await store(ShareKeyChange(epoch: 2, blob: [8], statement: statement(3, 3)), test)
            #expect(try await shown() == [[3], nil])
            // An epoch that begins without a statement has none, and counts again.
            try await store(ShareKeyChange(epoch: 3, blob: [8]), test)
            #expect(try await shown() == [nil, nil, nil])
            try await store(ShareKeyChange(epoch: 3, statement: statement(1, 4)), test)
            #expect(try await shown() == [[4], nil, nil])
            let large = ShareKeyChange.Statement(counter: 2, bytes: Array(repeating: 1, count: 16_385))
            await expect(.sizeLimitExceeded) { try await store(ShareKeyChange(epoch: 3, statement: large), test) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-PRT-07 the owner learns which administrators were given the right to invite`(_ engine: Engine) async throws
    {
        try await withKeys(engine) { test, share in
            try await test.accept(share.shortGUID, by: TestCloud.bob)
            func grant() async throws -> Int? {
                try await test.share("S")?.participants.first { $0.id == id }?.grantEpoch
            }
            try await store(ShareKeyChange(epoch: 1, wraps: [wrap(id, 4)]), test)
            #expect(try await grant() == nil)
            // Made an administrator, Bob has his key still, and not the right.
            try await test.changeShare(
                "S", ShareChange(participants: [ParticipantChange(id: id, role: .administrator)]))
            #expect(try await grant() == nil)
            // A wrap that he makes for himself gives no right, the owner's does; no one else is informed.
            try await store(ShareKeyChange(epoch: 1, wraps: [wrap(id, 5)]), test, by: TestCloud.bob)
            #expect(try await grant() == nil)
            try await store(ShareKeyChange(epoch: 1, wraps: [wrap(id, 6)]), test)
            #expect(try await grant() == 1)
            #expect(try await test.share("S", by: TestCloud.bob)?.participants.last?.grantEpoch == nil)
            try await test.changeShare(
                "S", ShareChange(participants: [ParticipantChange(id: id, role: .privateUser)]))
            #expect(try await grant() == nil)
        }
    }
}
