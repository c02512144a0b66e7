import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import OrderedStore
import SeededChance
import Synchronization
import Testing

/// Requests that devices send again because no answer came (B-THR-07).
@Suite(.timeLimit(.minutes(20))) struct RepeatedRequestTests {
    /// An attempt of a request by Ada, or another user.
    private func caller(_ request: UInt64, attempt: UInt16 = 1, user: UserID = TestCloud.ada) -> Caller {
        var chance = SplitMix64(seed: request)
        var caller = Caller(user: user, deviceID: "D", surface: .native)
        caller.attempt = RequestAttempt(using: &chance)
        caller.attempt?.number = attempt
        return caller
    }

    private func feed(_ test: TestCloud) async throws -> [String] { try await test.changes().events.map(\.mark) }

    @Test(arguments: Engine.allCases)
    func `B-THR-07 a repeated batch has the outcomes of the first, and one effect`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let old = try await test.modify([create("old", "Note", number("n", 1)), create("gone")])
            let tag = old[0].record?.changeTag
            let operations = [
                create("new", "Note", text("t", "x")), save(.update, "old", tag: tag, number("n", 2)), delete("gone"),
            ]
            let first = try await test.modify(operations, by: caller(1))
            let before = try await test.changes()
            for attempt in 2...4 {
                let again = try await test.modify(operations, by: caller(1, attempt: UInt16(attempt)))
                #expect(again == first)
            }
            let after = try await test.changes(since: before.syncToken)
            #expect(after.events.isEmpty)
            // Another request is another one.
            let other = try await test.modify(operations, by: caller(2))
            #expect(other[0].code == .recordExists)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-THR-07 a repeated save whose record others have changed brings the record as it is now`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let operations = [create("R", "Note", number("n", 1)), create("S")]
            let first = try await test.modify(operations, by: caller(1))
            try await test.modify([save(.update, "R", tag: first[0].record?.changeTag, number("n", 2)), delete("S")])
            let again = try await test.modify(operations, by: caller(1, attempt: 2))
            #expect(again.map(\.code) == [.changedSinceSave, .itemNotFound])
            #expect(again[0].failure?.serverRecord?.value.json("n") == "2")
            #expect(try await test.record("S") == nil)
        }
    }

    @Test func `B-THR-07 a repeated deletion does not delete what others have saved since`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            try await test.modify([create("R")])
            #expect(try await test.modify([delete("R")], by: caller(1))[0].isDeleted)
            try await test.modify([create("R", "Note", number("n", 7))])
            #expect(try await test.modify([delete("R")], by: caller(1, attempt: 2))[0].isDeleted)
            #expect(try await test.record("R")?.json("n") == "7")
        }
    }

    @Test func `B-THR-07 an attempt that arrives after a later one was served has no effect`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            try await test.modify([create("R", "Note", number("n", 1))])
            let forced = [save(.forceUpdate, "R", number("n", 2))]
            try await test.modify(forced, by: caller(1, attempt: 2))
            try await test.modify([save(.forceUpdate, "R", number("n", 3))])
            await expect(.serverUnavailable) { try await test.modify(forced, by: caller(1)) }
            #expect(try await test.record("R")?.json("n") == "3")
            // A later attempt that was refused ends the request, too.
            let refused = [create("R"), create("T")]
            #expect(
                try await test.modify(refused, by: caller(2, attempt: 2)).map(\.code) == [
                    .recordExists, .atomicFailure,
                ])
            try await test.modify([delete("R")])
            await expect(.serverUnavailable) { try await test.modify(refused, by: caller(2)) }
            #expect(try await test.record("T") == nil)
        }
    }

    @Test func `B-THR-07 of a batch that was served in part the rest is served`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            try await test.modify([create("taken")])
            let operations = [create("A"), create("taken"), create("B")]
            let first = try await test.modify(operations, atomic: false, by: caller(1))
            #expect(first.map(\.code) == [nil, .recordExists, nil])
            try await test.modify([delete("taken")])
            let again = try await test.modify(operations, atomic: false, by: caller(1, attempt: 2))
            #expect(again[0] == first[0] && again[2] == first[2])
            #expect(again[1].record != nil)
            let third = try await test.modify(operations, atomic: false, by: caller(1, attempt: 3))
            #expect(third == again)
        }
    }

    /// Ends every write to Ada's data after the first ones, as the end of a node does.
    private final class DyingStore: OrderedStore {
        private let store: MemoryStore
        private let turns: Mutex<Int>
        struct Ended: Error {}

        init(_ store: MemoryStore, turns: Int) {
            self.store = store
            self.turns = Mutex(turns)
        }

        var epoch: UInt64 { store.epoch }
        var damage: StoreDamage { store.damage }
        func renewEpoch(from epoch: UInt64) async throws { try await store.renewEpoch(from: epoch) }
        func commits() -> AsyncStream<Partition> { store.commits() }

        func read<Value: Sendable>(
            _ partition: Partition,
            _ body: nonisolated(nonsending) @Sendable (inout ReadTransaction) async throws -> Value
        ) async throws -> Value {
            try await store.read(partition, body)
        }

        func write<Value: Sendable>(
            _ partitions: [Partition],
            _ body: nonisolated(nonsending) @Sendable (inout WriteTransaction) async throws -> Value
        ) async throws -> Value {
            if partitions.contains(.privateDatabase(TestCloud.container, .development, of: TestCloud.ada)) {
                let left = turns.withLock { turns in
                    turns -= 1
                    return turns
                }
                guard left >= 0 else { throw Ended() }
            }
            return try await store.write(partitions, body)
        }
    }

    @Test func `B-THR-07 a batch whose node ended between two turns is completed by another`() async throws {
        let store = MemoryStore(epoch: 7)
        let test = try TestCloud(store: store)
        try await test.makeZone()
        try await test.modify([create("first", "Note", text("body", "a"))])
        let large = String(repeating: "x", count: 200_000)
        let operations = (0..<6).map { create("R\($0)", "Note", text("body", large)) }
        let dying = TestCloud(
            store: DyingStore(store, turns: 1), files: test.files, time: test.time)
        await #expect(throws: DyingStore.Ended.self) {
            try await dying.modify(operations, atomic: false, by: caller(1))
        }
        let names = (0..<6).map { "R\($0)" }
        let found = try await test.lookup(names).compactMap(\.record?.changeTag)
        #expect(!found.isEmpty && found.count < 6)
        let again = try await test.modify(operations, atomic: false, by: caller(1, attempt: 2))
        #expect(again.allSatisfy { $0.record != nil }, "\(again.map(\.code))")
        let tags = try await test.lookup(names).compactMap(\.record?.changeTag)
        #expect(tags.count == 6 && Set(tags).isSuperset(of: found))
    }

    @Test(arguments: Engine.allCases)
    func `B-THR-07 a request is remembered for its user, for half an hour, and not forever`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            let zone = ZoneID.defaultZoneName
            func save(_ name: String, by caller: Caller) async throws -> RequestFailure.Code? {
                try await test.modify([create(name)], zone: zone, in: .public, by: caller)[0].code
            }
            func rows() async throws -> Int {
                try await test.store.read(.publicDatabase(TestCloud.container, .development)) {
                    try await $0.scan(Subspace.rememberedRequest.range, limit: 100).count
                }
            }
            let first = try await save("R", by: caller(1))
            #expect(first == nil)
            #expect(try await save("R", by: caller(1, attempt: 2, user: TestCloud.bob)) == .recordExists)
            #expect(try await save("R", by: caller(1, attempt: 2)) == nil)
            test.time.advance(RequestMemory.periodLength)
            #expect(try await save("R", by: caller(1, attempt: 3)) == nil)
            #expect(try await save("S", by: caller(3)) == nil)
            // A node whose clock is behind finds what those before it have kept.
            test.time.advance(-RequestMemory.periodLength)
            #expect(try await save("S", by: caller(3, attempt: 2)) == nil)
            // A repetition that is answered from memory writes nothing.
            #expect(try await rows() == 2)
            test.time.advance(3 * RequestMemory.periodLength)
            #expect(try await save("T", by: caller(4)) == nil)
            #expect(try await rows() == 1)
            #expect(try await save("R", by: caller(1, attempt: 4)) == .recordExists)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-THR-07 zones are made and deleted once, whatever others do meanwhile`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            func modify(_ operations: [ZoneOperation], _ caller: Caller) async throws -> [ZoneOutcome] {
                try await ModifyZones(test.cloud).run(operations, in: TestCloud.address(.private), by: caller)
            }
            let zone = ZoneID(zoneName: "Z")
            let made = try await modify([.create(zone)], caller(1))
            #expect(try await modify([.create(zone)], caller(1, attempt: 2)) == made)
            #expect(try await modify([.raiseKeyEpoch(zone, to: 1)], caller(2))[0].zone?.keyEpoch == 1)
            #expect(try await modify([.raiseKeyEpoch(zone, to: 1)], caller(2, attempt: 2))[0].zone?.keyEpoch == 1)
            #expect(try await modify([.delete(zone)], caller(3))[0].isDeleted)
            #expect(try await modify([.create(zone)], caller(1, attempt: 3))[0].failure?.code == .zoneNotFound)
            try await test.makeZone()
            #expect(try await modify([.delete(zone)], caller(3, attempt: 2))[0].isDeleted)
            try await test.modify([create("R")])
            #expect(try await test.record("R") != nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-THR-07 subscriptions are saved and deleted once`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            func modify(_ operation: SubscriptionOperation, _ caller: Caller) async throws -> SubscriptionOutcome {
                try await ModifySubscriptions(test.cloud).run([operation], in: TestCloud.address(.private), by: caller)[
                    0]
            }
            let subscription = Subscription(id: "S", interest: .database(recordType: nil))
            let saved = try await modify(.create(subscription), caller(1))
            #expect(try await modify(.create(subscription), caller(1, attempt: 2)) == saved)
            let deleted = try await modify(.delete(id: "S"), caller(2))
            #expect(try await modify(.delete(id: "S"), caller(2, attempt: 2)) == deleted)
            // It is not saved again by a repetition that comes late.
            guard case .failed(_, let failure) = try await modify(.create(subscription), caller(1, attempt: 3)) else {
                Issue.record("the subscription was saved again")
                return
            }
            #expect(failure.code == .itemNotFound)
        }
    }

    @Test func `B-THR-07 shared zones are left once, several of one request too`() async throws {
        try await withCloud { test in
            for zone in ["Y", "Z"] {
                try await test.makeZone(zone)
                let share = try await test.shareZone(zone, permission: .readWrite)
                _ = try await test.accept(share.shortGUID, by: TestCloud.bob)
            }
            let zones = ["Y", "Z"].map { ZoneOperation.delete(ZoneID(zoneName: $0, owner: TestCloud.ada)) }
            for attempt in 1...2 {
                let outcomes = try await ModifyZones(test.cloud).run(
                    zones, in: TestCloud.address(.shared),
                    by: caller(1, attempt: UInt16(attempt), user: TestCloud.bob))
                let areDeleted = outcomes.allSatisfy(\.isDeleted)
                #expect(areDeleted, "\(outcomes)")
            }
            for zone in ["Y", "Z"] {
                await expect(.zoneNotFound) { _ = try await test.sharedLookup(["R"], zone: zone, by: TestCloud.bob) }
            }
        }
    }

    @Test func `the form of headers`() {
        var chance = SplitMix64(seed: 4)
        var attempt = RequestAttempt(using: &chance)
        attempt.number = 12
        #expect(RequestAttempt(attempt.text) == attempt)
        let digits = String(repeating: "0f", count: 16)
        #expect(RequestAttempt(digits + ";1")?.id == Array(repeating: 15, count: 16))
        for text in [
            "", ";", digits, digits + ";", digits + ";0", digits + ";65536", digits + ";-1", digits + "00;1",
            String(repeating: "0g", count: 16) + ";1", digits + ";1;1", String(repeating: "+f", count: 16) + ";1",
        ] {
            #expect(RequestAttempt(text) == nil, "\(text)")
        }
    }

    @Test func `rows of served requests come back as they were stored`() throws {
        for versions in [[:], [0: 9], [0: 9, 1: 10, 2: 11, 5: 12, 6: 20, 399: .max]] as [[Int: UInt64]] {
            let row = RememberedRequest(attempt: 3, user: "_ada", versions: versions)
            #expect(try RememberedRequest(decoding: row.encoded) == row)
            for end in 0..<row.encoded.count {
                #expect(throws: DamagedValue.self) { try RememberedRequest(decoding: Array(row.encoded[..<end])) }
            }
        }
        let batch = RememberedRequest(
            attempt: 1, user: "", versions: Dictionary(uniqueKeysWithValues: (0..<400).map { ($0, UInt64($0) + 70) }))
        #expect(batch.encoded.count < 32)
    }
}
