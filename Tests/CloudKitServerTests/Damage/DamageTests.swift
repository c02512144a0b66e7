import CSQLite
import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import Foundation
import OrderedStore
import OrderedStoreSQLite
import Synchronization
import Testing

/// Damaged stores, and stores that went back to an earlier state.
@Suite(.timeLimit(.minutes(20))) struct DamageTests {
    private static let partition = Partition.privateDatabase(TestCloud.container, .development, of: TestCloud.ada)

    @Test func `a damaged record is an error of its own: the others are returned`() async throws {
        try await withDamage("B") { test in
            let outcomes = try await test.lookup(["A", "B", "C"])
            #expect(outcomes.map(\.record?.id.recordName) == ["A", nil, "C"])
            #expect(outcomes[1].code == .internalError)
            #expect(outcomes[1].failure?.reason == "the record is damaged in the cloud's store")
            #expect(test.store.damage.count == 1)
            #expect(
                test.cloud.takeDamageReports().map { [$0.partition, $0.kind] } == [[Self.partition.name, "record"]])
        }
    }

    @Test func `a query names a damaged record beside those that it returns`() async throws {
        try await withDamage("B") { test in
            let filter = QueryFilter(key: .field("t"), comparator: .equals, value: .string("secret"))
            let page = try await QueryRecords(test.cloud).run(
                QueryRecordsRequest(query: Query(recordType: "Note", filters: [filter]), zoneID: ZoneID(zoneName: "Z")),
                in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
            #expect(page.records.map(\.id.recordName) == ["A", "C"])
            #expect(page.failures.keys.sorted() == ["B"])
        }
    }

    @Test func `a feed with a damaged record ends with an error that names it`() async throws {
        try await withDamage("B") { test in
            do {
                _ = try await test.changes()
                Issue.record("the damaged record was skipped")
            } catch let failure as RequestFailure {
                #expect(failure.reason == "records of the zone are damaged in the cloud's store: B")
            }
        }
    }

    @Test func `a damaged zone is named as damage`() async throws {
        try await withCloud(damaging: "hex(key) LIKE '02%'") { test in
            do {
                _ = try await test.lookup(["A"])
                Issue.record("no error")
            } catch {
                #expect(RequestFailure(storage: error)?.code == .internalError)
                #expect(RequestFailure(storage: error)?.retryAfter == nil)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-BKD-13 a token of a later state begins a new epoch, and all tokens expire`(_ engine: Engine) async throws {
        try await CloudKitServerTests.withCloud(engine) { test in
            let place = Self.partition
            try await test.makeZone()
            try await test.modify([create("A")])
            let known = try await test.changes().syncToken
            let saved = try await test.store.read(place) { try await $0.scan(everything, limit: .max) }
            try await test.modify([create("B")])
            let ahead = try await test.changes().syncToken
            let database = try await test.databaseChanges().syncToken
            // As a copy of the store from before the second save.
            try await test.store.write(place) { transaction in
                transaction.clear(everything)
                for entry in saved { transaction.set(entry.key, entry.value) }
            }
            let epoch = test.store.epoch
            #expect(try await test.changes(since: known).events.isEmpty)
            await expectExpired { _ = try await test.changes(since: ahead) }
            let renewed = test.store.epoch
            #expect(renewed != epoch)
            #expect(test.cloud.storeHistory.renewals == [.deviceAhead])
            // Also those that would have been good: nobody can tell them from those of the lost state.
            await expectExpired { _ = try await test.changes(since: known) }
            await expectExpired { _ = try await test.databaseChanges(since: database) }
            let page = try await test.changes()
            #expect(page.events.map(\.mark) == ["A"])
            #expect(try await test.changes(since: page.syncToken).events.isEmpty)
            #expect(test.store.epoch == renewed)
        }
    }

    @Test func `B-BKD-13 the feed of the database notices a later state too`() async throws {
        try await CloudKitServerTests.withCloud { test in
            try await test.makeZone()
            let saved = try await test.store.read(Self.partition) { try await $0.scan(everything, limit: .max) }
            try await test.makeZone("Y")
            let ahead = try await test.databaseChanges().syncToken
            try await test.store.write(Self.partition) { transaction in
                transaction.clear(everything)
                for entry in saved { transaction.set(entry.key, entry.value) }
            }
            await expectExpired { _ = try await test.databaseChanges(since: ahead) }
            #expect(test.cloud.storeHistory.takeUnreported() == [.deviceAhead])
            #expect(test.cloud.storeHistory.takeUnreported().isEmpty)
        }
    }

    // MARK: Checks

    @Test func `a check of a whole store finds nothing`() async throws {
        try await CloudKitServerTests.withCloud(.sqlite) { test in
            try await fill(test)
            let (summary, findings) = try await check(test)
            #expect(findings.isEmpty)
            #expect(summary.findings == 0)
            #expect(summary.rows > 20)
            #expect(try await check(test, isQuick: true).findings.isEmpty)
        }
    }

    @Test(arguments: [
        (Subspace.record, "names a record that is missing"), (.feed, "it has no entry in the feed of its zone"),
        (.index, "it is missing in the index of its type"), (.zone, "no zone has its last change there"),
        (.databaseFeed, "it has no entry in the feed of its database"), (.databaseHeader, "it counts 0 records"),
    ])
    func `a check notices a missing row`(kind: Subspace, expected: String) async throws {
        try await CloudKitServerTests.withCloud(.sqlite) { test in
            try await fill(test)
            try await test.store.write(Self.partition) { transaction in
                guard let entry = try await transaction.scan(kind.range, limit: 1).first else { return }
                transaction.clear(entry.key)
            }
            let findings = try await check(test).findings.map { "\($0.place): \($0.problem)" }
            #expect(findings.contains { $0.contains(expected) }, "\(findings)")
        }
    }

    @Test func `a check notices a row of another form and an unknown one`() async throws {
        try await CloudKitServerTests.withCloud(.sqlite) { test in
            try await fill(test)
            try await test.store.write(Self.partition) { transaction in
                guard let entry = try await transaction.scan(Subspace.record.range, limit: 1).first else { return }
                transaction.set(entry.key, [99])
                transaction.set([0x7E, 1], [])
            }
            let problems = try await check(test).findings.map(\.problem)
            #expect(problems.contains("the value is not of its kind's form"))
            #expect(problems.contains("the kind of the row is unknown"))
        }
    }

    @Test func `a check finds every damaged value and reads on`() async throws {
        try await withCloud(damaging: "hex(key) LIKE '10%' OR hex(key) LIKE '11%'") { test in
            let findings = try await check(test).findings
            #expect(findings.filter { $0.problem == "the value is damaged" }.count == 6)
            #expect(!findings.contains { $0.place.contains("secret") || $0.problem.contains("secret") })
        }
    }

    // MARK: Setup

    private var everything: KeyRange { KeyRange(lower: [], upper: [0xFF]) }

    private func fill(_ test: TestCloud) async throws {
        try await test.makeZone()
        try await test.modify([
            create("A"), create("B", parent: .keep), create("C", "Note", reference("r", to: "A", .deleteSelf)),
        ])
        try await test.modify([create("D"), delete("B")])
        try await test.modify([create("E")], zone: ZoneID.defaultZoneName)
    }

    private func check(
        _ test: TestCloud, isQuick: Bool = false
    ) async throws -> (summary: CheckSummary, findings: [CheckFinding]) {
        let findings = Mutex<[CheckFinding]>([])
        let store = try #require(test.store as? SQLiteStore)
        let names = try await store.partitionNames()
        let summary = try await CheckStore(test.cloud, isQuick: isQuick) { finding in
            findings.withLock { $0.append(finding) }
        }.run(partitions: names)
        return (summary, findings.withLock { $0 })
    }

    private func expectExpired(
        _ location: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
    ) async {
        do {
            try await body()
            Issue.record("no error", sourceLocation: location)
        } catch {
            #expect((error as? RequestFailure)?.code == .changeTokenExpired, sourceLocation: location)
        }
    }

    /// Runs `body` with three records, one of which is damaged.
    private func withDamage(_ name: String, _ body: (TestCloud) async throws -> Void) async throws {
        let hex = name.utf8.map { String($0, radix: 16) }.joined()
        try await withCloud(damaging: "hex(key) LIKE '10%02\(hex)00'", body)
    }

    private func withCloud(damaging rows: String, _ body: (TestCloud) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "welkin-damage-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "store.db").path()
        let first = try SQLiteStore(path: path)
        let before = try TestCloud(store: first)
        try await before.makeZone()
        try await before.modify([
            create("A", "Note", text("t", "secret")), create("B", "Note", text("t", "secret")),
            create("C", "Note", text("t", "secret")),
        ])
        await first.close()
        var database: OpaquePointer?
        #expect(sqlite3_open(path, &database) == SQLITE_OK)
        #expect(
            sqlite3_exec(database, "UPDATE entries SET sum = sum + 1 WHERE \(rows)", nil, nil, nil) == SQLITE_OK)
        #expect(sqlite3_changes(database) > 0)
        sqlite3_close(database)
        let store = try SQLiteStore(path: path)
        do {
            try await body(try TestCloud(store: store))
        } catch {
            await store.close()
            throw error
        }
        await store.close()
    }
}
