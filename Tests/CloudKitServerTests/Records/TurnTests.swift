import CloudKitModel
import CloudKitServer
import Testing

/// The work of one turn in the writer, and the order of turns. Nothing here depends on time.
@Suite(.timeLimit(.minutes(20))) struct TurnTests {
    private func words(_ range: Range<Int>) -> String {
        range.map { "w" + String($0, radix: 36) }.joined(separator: " ")
    }

    /// Sixteen records with 15,200 different words together.
    private var longTexts: [RecordOperation] {
        (0..<16).map { create("R\($0)", "Note", text("body", words(($0 * 950)..<($0 * 950 + 950)))) }
    }

    private func withTurns(_ body: (TestCloud, TurnwiseStore) async throws -> Void) async throws {
        let store = TurnwiseStore()
        let test = try TestCloud(store: store)
        for user in [TestCloud.ada, TestCloud.bob] {
            try await test.makeZone(of: user)
            // The schema has the fields then.
            try await test.modify([create("first", "Note", text("body", "a"))], by: Caller(user: user))
            try await test.modify([create("second", "Note", reference("r", to: "first"))], by: Caller(user: user))
        }
        try await body(test, store)
    }

    @Test func `B-LIM-18 a batch without atomicity takes a turn for each few thousand index entries`() async throws {
        try await withTurns { test, store in
            store.keepAllWaiting([])
            let outcomes = try await test.modify(longTexts, atomic: false)
            #expect(outcomes.map { $0.record?.id.recordName } == (0..<16).map { "R\($0)" })
            #expect(store.turns.count == 4)
            // Each word is an entry; besides them each record has a few rows of its own.
            #expect(store.turns.allSatisfy { $0.keyCount <= Limits().turnEntriesMax + 100 }, "\(store.turns)")
            store.keepAllWaiting([])
            let whole = try await test.modify((16..<32).map { create("R\($0)", "Note", text("body", words(0..<950))) })
            #expect(whole.allSatisfy { $0.record != nil })
            #expect(store.turns.count == 1)
        }
    }

    @Test func `B-LIM-18 a batch without atomicity takes a turn for each half megabyte`() async throws {
        try await withTurns { test, store in
            store.keepAllWaiting([])
            let large = String(repeating: "x", count: 200_000)
            try await test.modify((0..<6).map { create("R\($0)", "Note", text("body", large)) }, atomic: false)
            #expect(store.turns.count == 3)
            #expect(store.turns.allSatisfy { $0.byteCount < 1_200_000 }, "\(store.turns)")
        }
    }

    @Test
    func
        `B-LIM-18 a batch that takes effect as a whole is refused beyond 16,000 index entries, and its halves are one turn each`()
        async throws
    {
        try await withTurns { test, store in
            let notes = (0..<18).map { create("R\($0)", "Note", text("body", words(($0 * 950)..<($0 * 950 + 950)))) }
            store.keepAllWaiting([])
            let failure = await #expect(throws: RequestFailure.self) { try await test.modify(notes) }
            #expect(failure?.code == .sizeLimitExceeded)
            #expect(store.turns == [], "refused before its turn")
            for half in [notes.prefix(9), notes.suffix(9)] {
                let saved = try await test.modify(Array(half))
                #expect(saved.allSatisfy { $0.record != nil })
            }
            #expect(store.turns.count == 2)
            #expect(store.turns.allSatisfy { $0.keyCount <= 9 * 950 + 200 }, "\(store.turns)")
            // A word more in each text changes few entries, however long the texts are.
            let edits = (0..<18).map {
                save(.forceUpdate, "R\($0)", text("body", words(($0 * 950)..<($0 * 950 + 950)) + " one more"))
            }
            store.keepAllWaiting([])
            let saved = try await test.modify(edits)
            #expect(saved.allSatisfy { $0.record != nil })
            #expect(store.turns.map { $0.keyCount < 400 } == [true], "\(store.turns)")
        }
    }

    @Test func `B-LIM-18 words of short texts count as well`() async throws {
        try await withTurns { test, store in
            let notes = (0..<200).map { number in
                let texts = (0..<4).map { part in
                    text("part\(part)", words((number * 88 + part * 22)..<(number * 88 + part * 22 + 22)))
                }
                return create("S\(number)", "Note", texts[0], texts[1], texts[2], texts[3])
            }
            let failure = await #expect(throws: RequestFailure.self) { try await test.modify(notes) }
            #expect(failure?.code == .sizeLimitExceeded)
            #expect(try await test.record("S0") == nil, "nothing of it was saved")
            for half in [notes.prefix(100), notes.suffix(100)] {
                let saved = try await test.modify(Array(half))
                #expect(saved.allSatisfy { $0.record != nil })
            }
            store.keepAllWaiting([])
            let others = notes.map { note in
                var note = note
                note.change.recordName = "T" + (note.change.recordName ?? "")
                return note
            }
            let saved = try await test.modify(others, atomic: false)
            #expect(saved.allSatisfy { $0.record != nil })
            #expect(store.turns.count >= 4)
            #expect(store.turns.allSatisfy { $0.keyCount < 2 * Limits().turnEntriesMax }, "\(store.turns)")
        }
    }

    @Test func `records that follow a deletion later are deleted in turns of 64 KiB`() async throws {
        try await withTurns { test, store in
            try await test.modify([create("Owner", "Note")], zone: "_defaultZone")
            let body = words(0..<9000)
            for number in 0..<20 {
                try await test.modify(
                    [create("O\(number)", "Note", text("body", body), reference("r", to: "Owner", .deleteSelf))],
                    zone: "_defaultZone")
            }
            try await test.modify([delete("Owner")], zone: "_defaultZone")
            store.keepAllWaiting([])
            while try await RunOutbox(test.cloud).run() {}
            let keyCounts = store.turns.map(\.keyCount)
            #expect(keyCounts.reduce(0, +) > 20 * 9000)
            #expect(keyCounts.allSatisfy { $0 < 20_000 }, "\(keyCounts)")
        }
    }

    @Test func `another user has every other turn while a large batch is saved`() async throws {
        try await withTurns { test, store in
            let (ada, bob) = (TestCloud.ada.recordName, TestCloud.bob.recordName)
            store.keepAllWaiting([ada, bob])
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await test.modify(longTexts, atomic: false)
                    store.end(ada)
                }
                group.addTask {
                    for number in 0..<3 {
                        try await test.modify([create("B\(number)")], by: Caller(user: TestCloud.bob))
                    }
                    store.end(bob)
                }
                try await group.waitForAll()
            }
            let users = store.turns.map(\.user)
            #expect(users.count { $0 == ada } == 4)
            #expect(users.count { $0 == bob } == 3)
            let both = users.prefix(6)
            #expect(!zip(both, both.dropFirst()).contains { $0 == $1 }, "\(users)")
        }
    }

    @Test func `records stay together with the later ones that they refer to`() async throws {
        try await withTurns { test, store in
            store.keepAllWaiting([])
            var operations = longTexts
            operations[0] = create(
                "R0", "Note", text("body", words(0..<950)), reference("r", to: "R15", .deleteSelf))
            let outcomes = try await test.modify(operations, atomic: false)
            #expect(outcomes.allSatisfy { $0.record != nil }, "\(outcomes.compactMap(\.failure))")
            #expect(store.turns.count == 1)
            store.keepAllWaiting([])
            // One that refers to an earlier record needs it only to be saved.
            let later = (16..<32).map { number in
                create(
                    "R\(number)", "Note", text("body", words((number * 950)..<(number * 950 + 950))),
                    reference("r", to: "R\(max(16, number) - 1)", .deleteSelf))
            }
            let saved = try await test.modify(later, atomic: false)
            #expect(saved.allSatisfy { $0.record != nil })
            #expect(store.turns.count == 4)
        }
    }

    @Test func `a batch with deletions is one turn`() async throws {
        try await withTurns { test, store in
            store.keepAllWaiting([])
            let outcomes = try await test.modify(longTexts + [delete("first")], atomic: false)
            #expect(outcomes.last?.isDeleted == true)
            #expect(store.turns.count == 1)
        }
    }

    @Test func `what is saved stays when a later turn fails, and the rest fails by itself`() async throws {
        var partialCount = 0
        for call in 0..<10 {
            let store = TurnwiseStore()
            let plain = try TestCloud(store: store)
            try await plain.makeZone()
            try await plain.modify([create("first", "Note", text("body", "a"))])
            let interrupted = InterruptedStore(store, before: call) {
                _ = try await ModifyZones(plain.cloud).run(
                    [.delete(ZoneID(zoneName: "Z"))], in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
            }
            let test = TestCloud(store: interrupted, files: plain.files, time: plain.time)
            do {
                let outcomes = try await test.modify(Array(longTexts.prefix(8)), atomic: false)
                let saved = outcomes.count { $0.record != nil }
                #expect(outcomes.count == 8)
                #expect(outcomes.dropFirst(saved).allSatisfy { $0.code == .zoneNotFound })
                if saved < 8 { partialCount += 1 }
            } catch let failure as RequestFailure {
                #expect(failure.code == .zoneNotFound)
            }
        }
        #expect(partialCount > 0)
    }

    @Test func `the client change token is that of the whole batch`() async throws {
        try await withTurns { test, store in
            _ = try await ModifyRecords(test.cloud).run(
                ModifyRecordsRequest(
                    operations: longTexts, zoneID: ZoneID(zoneName: "Z"), atomic: false, clientChangeToken: [7, 7]),
                in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
            #expect(try await test.changes().clientChangeToken == [7, 7])
        }
    }
}
