import CSQLite
import CloudKitAccounts
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

    @Test func `a record whose row is of another form is an error of its own, too`() async throws {
        try await CloudKitServerTests.withCloud { test in
            try await test.makeZone()
            try await test.modify([create("A"), create("B"), create("C")])
            try await test.store.write(Self.partition) { transaction in
                let rows = try await transaction.scan(Subspace.record.range, limit: 3)
                if rows.count == 3 { transaction.set(rows[1].key, [99]) }
            }
            let outcomes = try await test.lookup(["A", "B", "C"])
            #expect(outcomes.map(\.record?.id.recordName) == ["A", nil, "C"])
            #expect(outcomes[1].failure?.reason == "the record is damaged in the cloud's store")
            #expect(try await test.lookup(["C", "B"]).map(\.record?.id.recordName) == ["C", nil])
        }
    }

    @Test func `a record whose fields are cut off is named: look-up, list, query and feed`() async throws {
        try await CloudKitServerTests.withCloud { test in
            try await test.makeZone()
            try await test.modify(["A", "B", "C"].map { create($0, "Note", text("t", "same")) })
            try await test.store.write(Self.partition) { transaction in
                let rows = try await transaction.scan(Subspace.record.range, limit: 3)
                if rows.count == 3 { transaction.set(rows[1].key, rows[1].value.dropLast(2)) }
            }
            let outcomes = try await test.lookup(["A", "B", "C"])
            #expect(outcomes.map(\.record?.id.recordName) == ["A", nil, "C"])
            #expect(outcomes[1].failure?.reason == "the record is damaged in the cloud's store")

            let zone = ZoneID(zoneName: "Z")
            let list = try await ListRecords(test.cloud).run(
                ListRecordsRequest(zoneID: zone), in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
            #expect(list.records.map(\.id.recordName) == ["A", "C"])
            #expect(list.failures.keys.sorted() == ["B"])

            let filter = QueryFilter(key: .field("t"), comparator: .equals, value: .string("same"))
            let page = try await QueryRecords(test.cloud).run(
                QueryRecordsRequest(query: Query(recordType: "Note", filters: [filter]), zoneID: zone),
                in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
            #expect(page.records.map(\.id.recordName) == ["A", "C"])
            #expect(page.failures.keys.sorted() == ["B"])

            let failure = await #expect(throws: RequestFailure.self) { try await test.changes() }
            #expect(failure?.reason == "records of the zone are damaged in the cloud's store: B")
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

    @Test func `pages that cannot be read are named as damage, and the check goes on behind them`() async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "store.db").path()
            let first = try SQLiteStore(path: path)
            let before = try TestCloud(store: first)
            try await before.makeZone()
            let names = (0..<200).map { "R\($0)" }
            try await before.modify(names.map { create($0, "Note", text("t", String(repeating: $0, count: 60))) })
            await first.close()
            let pageBytes = 4096
            let whole = try Data(contentsOf: URL(filePath: path))
            var failures = 0
            // The first pages hold the schema and the places of pages.
            for page in stride(from: 7, to: whole.count / pageBytes, by: 3) {
                var file = whole
                file.replaceSubrange(page * pageBytes..<(page + 1) * pageBytes, with: Data(count: pageBytes))
                try file.write(to: URL(filePath: path))
                let store = try SQLiteStore(path: path)
                let test = try TestCloud(store: store)
                for name in names.prefix(40) {
                    do {
                        let outcome = try await test.lookup([name])[0]
                        if outcome.record == nil { #expect(outcome.code == .internalError, "\(name) page \(page)") }
                    } catch {
                        failures += 1
                        let reason = RequestFailure(storage: error)?.reason
                        #expect(reason == "data that the request needs is damaged in the cloud's store", "\(error)")
                        #expect(store.damage.count > 0)
                    }
                }
                let (summary, findings) = try await check(test)
                #expect(summary.partitions > 2 && summary.findings == findings.count)
                await store.close()
                try? FileManager.default.removeItem(atPath: path + "-wal")
                try? FileManager.default.removeItem(atPath: path + "-shm")
            }
            #expect(failures > 0)
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
            #expect(findings.filter { $0.problem == "the row is damaged" }.count == 6)
            #expect(!findings.contains { $0.place.contains("secret") || $0.problem.contains("secret") })
        }
    }

    @Test func `a quick check reads the newest changes and their records`() async throws {
        try await withDamage("C") { test in
            let problems = try await check(test, isQuick: true).findings.map { "\($0.place): \($0.problem)" }
            #expect(
                problems.contains("\(Self.partition.name): a row of kind record: the row is damaged"), "\(problems)")
        }
        try await withCloud(damaging: "hex(key) LIKE '11%'") { test in
            let places = try await check(test, isQuick: true).findings.map(\.place)
            #expect(places.contains { $0.hasSuffix("kind feed") })
        }
    }

    @Test(
        "a check decodes rows of every kind and compares them with those that belong to them",
        arguments: [
            RowDamage(.shareMember, "the value is not of its kind's form"),
            RowDamage(.shareMember, removed: true, "a participant who accepted it is no member"),
            RowDamage(.share, removed: true, "the share of a member's slot is missing"),
            RowDamage(.shareMembership, removed: true, "no record has its last change in the share there"),
            RowDamage(.shareFeed, removed: true, "it has no entry in the feed of its share"),
            RowDamage(.zoneShareGUID, "the value is not of its kind's form"),
            RowDamage(.ownerCount, "the value is not of its kind's form"),
            RowDamage(.backReference, removed: true, "it counts 1 owning references and has 0"),
            RowDamage(.subscription, "the value is not of its kind's form"),
            RowDamage(.subscription, removed: true, "it counts 1 subscriptions and holds 0"),
            RowDamage(.notificationQueue, "the value is not of its kind's form"),
            RowDamage(.notificationQueue, removed: true, "it is behind the end of its queue"),
            RowDamage(.notification, removed: true, "a key leads to a notification that is missing"),
            RowDamage(.notificationKey, removed: true, "its key does not lead to it"),
            RowDamage(.pushToken, "the value is not of its kind's form"),
        ])
    func rowsBelongTogether(damage: RowDamage) async throws {
        try await expect(damage, in: Self.partition) { $0.first == damage.kind.rawValue }
    }

    @Test func `a check notices an entry of a share's feed that names another record`() async throws {
        try await CloudKitServerTests.withCloud(.sqlite) { test in
            try await test.makeZone()
            try await test.modify([create("A"), create("B", parent: .set(recordName: "A"))])
            try await test.shareTree("A", with: [invite(TestCloud.bob)])
            #expect(try await check(test).findings == [])
            let count = try await test.store.write(Self.partition) { transaction in
                let rows = try await transaction.scan(Subspace.shareFeed.range, limit: 10)
                if let first = rows.first, let last = rows.last { transaction.set(first.key, last.value) }
                return rows.count
            }
            #expect(count > 1)
            let problems = try await check(test).findings.map(\.problem)
            #expect(problems.contains("it has no entry in the feed of its share"), "\(problems)")
        }
    }

    @Test func `a check notices a record that left a share without an entry in the share's feed`() async throws {
        try await CloudKitServerTests.withCloud(.sqlite) { test in
            try await test.makeZone()
            try await test.modify([create("A"), create("B", parent: .set(recordName: "A"))])
            try await test.shareTree("A", with: [invite(TestCloud.bob)])
            try await test.modify([save(.forceUpdate, "B", parent: .remove)])
            #expect(try await check(test).findings == [])
            let places = try await test.store.write(Self.partition) { transaction in
                let rows = try await transaction.scan(Subspace.shareFeed.range, limit: 10)
                for row in rows { transaction.clear(row.key) }
                return rows.count
            }
            #expect(places > 1)
            let problems = try await check(test).findings.map(\.problem)
            #expect(problems.contains("the feed of the share does not say that it left"), "\(problems)")
        }
    }

    @Test(arguments: [
        RowDamage(.joinedZone, "the value is not of its kind's form"),
        RowDamage(.joinedFeed, removed: true, "a zone has no entry in its feed"),
        RowDamage(.joinedZone, removed: true, "its feed names a zone that is missing"),
        RowDamage(.joinedHeader, removed: true, "a zone has a later version than the database"),
    ])
    func `a check compares the rows of a shared database`(damage: RowDamage) async throws {
        let place = Partition.privateDatabase(TestCloud.container, .development, of: TestCloud.bob)
        try await expect(damage, in: place) { $0.first == damage.kind.rawValue }
    }

    @Test func `a check decodes schemas, the registry and the links of shares`() async throws {
        let schema = Partition.schema(TestCloud.container, .development)
        try await expect(RowDamage(.recordType, "the value is not of its kind's form"), in: schema) { $0.first == 0x40 }
        try await expect(RowDamage(.schemaVersion, "the value is not of its kind's form"), in: schema) {
            $0.first == 0x41
        }
        let form = "key or value are not of their kind's form"
        try await expect(RowDamage(.knownPartition, form), in: .registry) { $0.first == 0x50 }
        try await expect(RowDamage(.shareDirectory, form), in: .shareDirectory) { $0.first == 0x58 }
    }

    @Test(
        arguments: [
            ("account/", "the value is not of its kind's form"), ("email/", "the account of an address is missing"),
            ("session/", "the value is not of its kind's form"),
            ("session-owner/", "the session of an identifier is missing"),
            ("keychain/", "the value is not of its kind's form"),
            ("user/", "a user's name does not lead to its account"),
            ("user-account/", "the account of a user does not have the user's name"),
            ("fault/", "the value is not of its kind's form"), ("api-token/", "the value is not of its kind's form"),
        ] as [(String, String)])
    func `a check decodes the rows of accounts and compares them`(table: String, problem: String) async throws {
        try await expect(RowDamage(.databaseHeader, problem), in: Partition("accounts")) {
            String(decoding: $0, as: UTF8.self).hasPrefix(table)
        }
    }

    @Test(arguments: [
        "account/", "email/", "session/", "session-owner/", "user/", "user-account/",
    ])
    func `a check notices a missing row of an account`(table: String) async throws {
        try await CloudKitServerTests.withCloud(.sqlite) { test in
            try await fillEverything(test)
            let accounts = Partition("accounts")
            try await test.store.write(accounts) { transaction in
                let rows = try await transaction.scan(KeyRange(prefix: Array(table.utf8)), limit: 1)
                #expect(!rows.isEmpty)
                for row in rows { transaction.clear(row.key) }
            }
            let places = try await check(test).findings.map(\.place)
            #expect(places.contains { $0.hasPrefix("accounts: ") })
        }
    }

    @Test func `a check finds nothing wrong with shares, notifications, subscriptions and accounts`() async throws {
        try await CloudKitServerTests.withCloud(.sqlite) { test in
            try await fillEverything(test)
            #expect(try await check(test).findings == [])
            #expect(try await check(test, isQuick: true).findings == [])
        }
    }

    // MARK: Setup

    /// A change to the first row of a kind.
    struct RowDamage: Sendable, CustomTestStringConvertible {
        let kind: Subspace
        let isRemoved: Bool
        let problem: String

        init(_ kind: Subspace, removed: Bool = false, _ problem: String) {
            self.kind = kind
            isRemoved = removed
            self.problem = problem
        }

        var testDescription: String { "\(kind) \(isRemoved ? "removed" : "changed"): \(problem)" }
    }

    private func expect(
        _ damage: RowDamage, in partition: Partition, _ location: SourceLocation = #_sourceLocation,
        where isMeant: @Sendable @escaping ([UInt8]) -> Bool
    ) async throws {
        try await CloudKitServerTests.withCloud(.sqlite) { test in
            try await fillEverything(test)
            let found = try await test.store.write(partition) { transaction in
                let rows = try await transaction.scan(everything, limit: .max)
                guard let row = rows.first(where: { isMeant($0.key) }) else { return false }
                if damage.isRemoved { transaction.clear(row.key) } else { transaction.set(row.key, [0xFE]) }
                return true
            }
            #expect(found, "there is no such row", sourceLocation: location)
            let problems = try await check(test).findings.filter { $0.place.hasPrefix(partition.name) }.map(\.problem)
            #expect(problems.contains(damage.problem), "\(problems)", sourceLocation: location)
        }
    }

    /// Makes rows of every kind.
    private func fillEverything(_ test: TestCloud) async throws {
        try await fill(test)
        try await fillShares(test)
        try await fillNotifications(test)
        try await fillAccounts(test)
    }

    private func fillShares(_ test: TestCloud) async throws {
        try await test.makeZone("W")
        let tree = try await test.shareTree("A", with: [invite(TestCloud.bob)])
        #expect(try await test.accept(tree.shortGUID, by: TestCloud.bob).invitation != nil)
        try await test.shareZone("W", permission: .readOnly)
    }

    private func fillNotifications(_ test: TestCloud) async throws {
        _ = try await TestDevice(test, "laptop")
        try await test.subscribe(Subscription(id: "Z", interest: .zone(ZoneID(zoneName: "Z"), recordType: nil)))
        try await test.modify([create("N")])
    }

    private func fillAccounts(_ test: TestCloud) async throws {
        let store = test.cloud.accountStore
        _ = try await store.accounts.add(
            email: "ada@example.com", name: "Ada", proof: TestCloud.proof,
            derivation: store.accounts.newDerivation(rounds: 1))
        let token = try await store.apiTokens.create(
            container: TestCloud.container, environment: .development, name: "")
        let grant = try await DeviceSignIn(store: store).create(
            email: "ada@example.com", proof: TestCloud.proof, deviceName: "", lifetime: .device,
            place: .init(container: TestCloud.container, environment: .development, apiToken: token.row), address: "")
        let device = DeviceKey(id: grant.deviceID, secret: try #require(grant.deviceSecret))
        let upload = KeychainUpload(
            passwordWrap: [1], recovery: RecoveryUpload(wrap: [1], proof: TestCloud.proof), identity: [1])
        _ = try await store.keychains(ProofLimiter(roundsMin: 1)).create(upload, by: device)
        let fault = Fault(id: "0123456789abcdef", kind: .throttle)
        try await store.write { try Fault.table.set(fault.id, to: fault, in: &$0) }
    }

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

    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "welkin-damage-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    private func withCloud(damaging rows: String, _ body: (TestCloud) async throws -> Void) async throws {
        try await withFolder { folder in try await withCloud(damaging: rows, in: folder, body) }
    }

    private func withCloud(
        damaging rows: String, in folder: URL, _ body: (TestCloud) async throws -> Void
    ) async throws {
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
