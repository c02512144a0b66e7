import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema
import Foundation
import OrderedStore
import Testing

@testable import CloudKitServer

@Suite(.timeLimit(.minutes(20))) struct SchemaOperationTests {
    private static let note = """
        DEFINE SCHEMA
            RECORD TYPE Note (
                "___recordID" REFERENCE QUERYABLE,
                a STRING QUERYABLE SORTABLE,
                GRANT WRITE TO "_creator",
                GRANT CREATE TO "_icloud",
                GRANT READ TO "_world"
            );
        """

    private func schema(
        _ test: TestCloud, _ environment: CloudKitModel.Environment = .development
    ) async throws -> Schema {
        try await test.cloud.schema(TestCloud.container, environment)
    }

    private func importing(_ text: String, _ test: TestCloud, removesData: Bool = false) async throws {
        try await ImportSchema(test.cloud).run(text, in: TestCloud.container, removesData: removesData)
    }

    private func deploy(_ test: TestCloud, force: Bool = false) async throws {
        try await DeploySchema(test.cloud).run(of: TestCloud.container, force: force)
    }

    private func names(
        _ test: TestCloud, _ filters: [QueryFilter] = [], sorts: [QuerySort] = [], type: String = "Note",
        _ environment: CloudKitModel.Environment = .development, in scope: DatabaseScope = .private,
        by caller: Caller = Caller(user: TestCloud.ada)
    ) async throws -> [String] {
        try await QueryRecords(test.cloud).run(
            QueryRecordsRequest(
                query: Query(recordType: type, filters: filters, sorts: sorts), zoneID: nil, zoneWide: scope == .private
            ),
            in: TestCloud.address(scope, environment), by: caller
        ).records.map(\.id.recordName)
    }

    @Test(arguments: Engine.allCases)
    func `an export that is imported again changes nothing`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await importing(
                "DEFINE SCHEMA CREATE ROLE editor; RECORD TYPE Note (a STRING, GRANT READ TO editor);", test)
            let text = try await ExportSchema(test.cloud).run(of: TestCloud.container, .development)
            let version = try await schema(test).version
            let changes = try await ImportSchema(test.cloud).run(text, in: TestCloud.container)
            #expect(changes.isEmpty)
            #expect(try await schema(test).version == version)
            let again = try await ExportSchema(test.restarted()).run(of: TestCloud.container, .development)
            #expect(again == text)
            #expect(text.contains("CREATE ROLE editor;"))
        }
    }

    @Test func `a text with a fault changes nothing, nor does a validation`() async throws {
        try await withCloud { test in
            let failure = await failure { try await importing("DEFINE SCHEMA RECORD TYPE N (a STRIN);", test) }
            #expect(failure?.reason.hasPrefix("line 1, column 32: met 'STRIN'") == true)
            let changes = try await ImportSchema(test.cloud).validate(Self.note, in: TestCloud.container)
            #expect(changes.map(\.line) == ["+ RECORD TYPE Note (1 fields)"])
            #expect(try await schema(test)["Note"] == nil)
        }
    }

    @Test func `B-SCH-02 the first save in production names the command that mends it`() async throws {
        try await withCloud { test in
            func save() async throws -> RecordOutcome {
                try await test.modify(
                    [create("R", "Note", text("a", "x"))], zone: "_defaultZone", in: .private, .production)[0]
            }
            let refused = try await save()
            #expect(refused.failure?.reason == "Cannot create new type Note in production schema")
            #expect(refused.failure?.remedy?.contains("welkin schema deploy") == true)
            try await importing(Self.note, test)
            try await deploy(test)
            #expect(try await save().record != nil)
            #expect(try await names(test, [], .production) == ["R"])
        }
    }

    @Test func `B-SCH-03 the first share makes its type, and production needs it deployed`() async throws {
        try await withCloud { test in
            func share(_ environment: CloudKitModel.Environment) async throws -> RecordOutcome {
                _ = try await ModifyZones(test.cloud).run(
                    [.create(ZoneID(zoneName: "S"))], in: TestCloud.address(.private, environment),
                    by: Caller(user: TestCloud.ada))
                let change = RecordChange(
                    recordName: "cloudkit.zoneshare", recordType: Validity.shareRecordType, share: ShareChange())
                return try await test.modify([RecordOperation(.create, change)], zone: "S", in: .private, environment)[
                    0]
            }
            let refused = try await share(.production)
            #expect(refused.failure?.reason == "Cannot create new type cloudkit.share in production schema")
            let before = try await ExportSchema(test.cloud).run(of: TestCloud.container, .development)
            #expect(!before.contains("cloudkit.share"))
            #expect(try await share(.development).record != nil)
            let after = try await ExportSchema(test.cloud).run(of: TestCloud.container, .development)
            #expect(after.contains("RECORD TYPE \"cloudkit.share\" ("))
            try await deploy(test)
            #expect(try await share(.production).record != nil)
        }
    }

    @Test func `B-SCH-04 an import cannot take away what is in production`() async throws {
        try await withCloud { test in
            try await importing(Self.note, test)
            try await deploy(test)
            for text in [
                "DEFINE SCHEMA", "DEFINE SCHEMA RECORD TYPE Note ();", "DEFINE SCHEMA RECORD TYPE Note (a INT64);",
                "DEFINE SCHEMA RECORD TYPE Note (a ENCRYPTED STRING);",
            ] {
                let refusal = await failure { try await importing(text, test, removesData: true) }
                #expect(refusal?.code == .schemaMismatch)
                #expect(refusal?.reason.contains("in production and cannot") == true)
            }
            #expect(try await schema(test)["Note"]?.fields["a"]?.type == .string)
        }
    }

    @Test func `B-SCH-09 a system field that is left out loses its index`() async throws {
        try await withCloud { test in
            try await importing(Self.note, test)
            try await test.modify([create("R", "Note", text("a", "x"))], zone: "_defaultZone")
            #expect(try await names(test) == ["R"])
            try await importing("DEFINE SCHEMA RECORD TYPE Note (a STRING QUERYABLE SORTABLE);", test)
            await expect(.indexMissing) { _ = try await names(test) }
        }
    }

    @Test func `stored records keep their type and fields unless their data is to go`() async throws {
        try await withCloud { test in
            try await importing(Self.note, test)
            try await test.modify(
                [create("R1", "Note", text("a", "x")), create("R2", "Note")], zone: "_defaultZone")
            let refused = await failure { try await importing("DEFINE SCHEMA", test) }
            #expect(refused?.reason.contains("records of type Note are stored") == true)
            let bare = "DEFINE SCHEMA RECORD TYPE Note (\"___recordID\" REFERENCE QUERYABLE);"
            let field = await failure { try await importing(bare, test) }
            #expect(field?.reason.contains("records of type Note with a are stored") == true)
            try await importing(bare, test, removesData: true)
            #expect(try await names(test) == ["R2"])
            try await importing("DEFINE SCHEMA", test, removesData: true)
            #expect(try await test.record("R2", zone: "_defaultZone") == nil)
            #expect(try await schema(test)["Note"] == nil)
        }
    }

    @Test func `B-SCH-04 a deployed field has its place in orders of older records`() async throws {
        try await withCloud { test in
            try await importing(Self.note, test)
            try await deploy(test)
            try await test.modify(
                [create("old", "Note", text("a", "x"))], zone: "_defaultZone", in: .private, .production)
            try await importing(Self.note.with("a STRING", with: "stars INT64 SORTABLE, a STRING"), test)
            try await deploy(test)
            try await test.modify(
                [create("new", "Note", number("stars", 3))], zone: "_defaultZone", in: .private, .production)
            let sorted = try await names(test, sorts: [QuerySort(key: .field("stars"))], .production)
            #expect(sorted == ["old", "new"])
        }
    }

    @Test func `B-SCH-07 an index that is added leaves the others usable while it is built`() async throws {
        try await withCloud { test in
            try await importing(Self.note.with(" SORTABLE", with: ""), test)
            try await test.modify(
                [create("R", "Note", text("a", "x")), create("none", "Note")], zone: "_defaultZone")
            let equal = QueryFilter(key: .field("a"), comparator: .equals, value: .string("x"))
            try await ImportSchema(test.cloud).run(Self.note, in: TestCloud.container, waits: false)
            #expect(try await schema(test)["Note"]?.fields["a"]?.building == .sortable)
            #expect(try await names(test, [equal]) == ["R"])
            await expect(.indexMissing) { _ = try await names(test, sorts: [QuerySort(key: .field("a"))]) }
            #expect(try await FinishIndexBuilds(test.cloud).runWaiting())
            #expect(try await !FinishIndexBuilds(test.cloud).runWaiting())
            #expect(try await names(test, sorts: [QuerySort(key: .field("a"))]) == ["none", "R"])
            // Dropped and added again, it has no entries of values that records no longer have.
            try await importing(Self.note.with(" SORTABLE", with: ""), test)
            try await test.modify([save(.forceUpdate, "none", text("a", "w"))], zone: "_defaultZone")
            try await importing(Self.note, test)
            #expect(try await names(test, sorts: [QuerySort(key: .field("a"))]) == ["none", "R"])
        }
    }

    @Test func `recordName can be sortable`() async throws {
        try await withCloud { test in
            try await importing(Self.note, test)
            try await test.modify(["c", "a"].map { create($0, "Note") }, zone: "_defaultZone")
            let sort = QuerySort(key: .system(.recordName), ascending: false)
            await expect(.indexMissing) { _ = try await names(test, sorts: [sort]) }
            try await importing(Self.note.with("REFERENCE QUERYABLE", with: "REFERENCE QUERYABLE SORTABLE"), test)
            try await test.modify([create("b", "Note")], zone: "_defaultZone")
            #expect(try await names(test, sorts: [sort]) == ["c", "b", "a"])
            try await test.modify([delete("b")], zone: "_defaultZone")
            #expect(try await names(test, sorts: [sort]) == ["c", "a"])
        }
    }

    @Test func `B-SCH-05 a reset deletes development's data and restores production's schema`() async throws {
        try await withCloud { test in
            try await importing(Self.note, test)
            try await deploy(test)
            try await test.makeZone()
            try await test.modify([create("R", "Extra", text("b", "x"))])
            try await test.modify([create("D", "Note", text("a", "x"))], zone: "_defaultZone")
            try await test.modify([create("P", "Note", text("a", "x"))], zone: "_defaultZone", in: .public)
            try await test.modify(
                [create("K", "Note", text("a", "x"))], zone: "_defaultZone", in: .private, .production)
            try await ResetSchema(test.cloud).run(of: TestCloud.container)
            #expect(try await schema(test)["Extra"] == nil)
            #expect(try await schema(test).document == schema(test, .production).document)
            #expect(try await names(test) == [])
            #expect(try await names(test, in: .public) == [])
            #expect(try await names(test, [], .production) == ["K"])
            await expect(.zonePurged) { try await test.modify([create("R", "Note")]) }
        }
    }

    @Test func `the report names the requests of development that production refuses`() async throws {
        try await withCloud { test in
            try await importing(Self.note, test)
            try await deploy(test)
            try await test.modify([create("R", "Note", text("a", "x"), number("n", 1))], zone: "_defaultZone")
            let equal = QueryFilter(key: .field("n"), comparator: .equals, value: .int64(1))
            _ = try await names(test, [equal])
            await expect(.indexMissing) {
                _ = try await names(test, sorts: [QuerySort(key: .system(.modifiedTimestamp))])
            }
            let report = try await DeploySchema(test.restarted()).report(on: TestCloud.container)
            #expect(report.isSafe)
            #expect(report.changes.map(\.line) == ["+ Note.n INT64 QUERYABLE SORTABLE"])
            #expect(
                report.findings.map(\.text) == [
                    "query of Note sorted by ___modTime is refused; missing index: ___modTime SORTABLE",
                    "query of Note where n EQUALS is refused by production until the deployment",
                    "save of Note.n as INT64 is refused by production until the deployment",
                ])
            // Served in production, and then without its index.
            try await deploy(test)
            _ = try await names(test, [equal], .production)
            try await importing(Self.note.with("a STRING", with: "n INT64, a STRING"), test)
            let refused = await failure { try await deploy(test) }
            #expect(refused?.reason.contains("query of Note where n EQUALS is served and would be refused") == true)
            #expect(refused?.remedy?.contains("--force") == true)
            try await deploy(test, force: true)
            await expect(.indexMissing) { _ = try await names(test, [equal], .production) }
        }
    }

    @Test(arguments: CloudKitModel.Environment.allCases)
    func `B-DB-07 custom roles have what the schema grants them`(_ environment: CloudKitModel.Environment) async throws
    {
        try await withCloud { test in
            try await importing(
                """
                DEFINE SCHEMA CREATE ROLE editor;
                RECORD TYPE Note ("___recordID" REFERENCE QUERYABLE, a STRING,
                    GRANT READ, CREATE, WRITE TO editor, GRANT READ TO "_creator");
                """, test)
            try await deploy(test)
            func outcome(_ operation: RecordOperation, _ user: UserID) async throws -> RecordOutcome {
                try await test.modify(
                    [operation], zone: "_defaultZone", in: .public, environment, by: Caller(user: user))[0]
            }
            #expect(
                try await outcome(create("R", "Note"), TestCloud.ada).failure?.reason
                    == "CREATE operation not permitted")
            func give(_ role: String = "editor", _ isGiven: Bool = true, to user: UserID = TestCloud.ada) async throws {
                try await SetRoles(test.cloud).run(
                    role, isGiven: isGiven, to: user, in: TestCloud.container, environment)
            }
            await expect(.itemNotFound) { try await give("owner") }
            try await give()
            #expect(try await outcome(create("R", "Note"), TestCloud.ada).record != nil)
            #expect(try await outcome(save(.forceUpdate, "R", text("a", "x")), TestCloud.bob).code == .accessDenied)
            try await give(to: TestCloud.bob)
            #expect(try await outcome(save(.forceUpdate, "R", text("a", "y")), TestCloud.bob).record != nil)
            let bob = Caller(user: TestCloud.bob)
            #expect(try await names(test, [], environment, in: .public, by: bob) == ["R"])
            try await give("editor", false, to: TestCloud.bob)
            #expect(try await names(test, [], environment, in: .public, by: bob) == [])
            await expect(.accessDenied) { _ = try await names(test, [], environment, in: .public, by: .anonymous) }
            #expect(
                try await SetRoles(test.restarted()).members(in: TestCloud.container, environment) == [
                    "editor": [TestCloud.ada]
                ])
        }
    }

    @Test func `B-DB-07 a custom role has at most 1000 users`() async throws {
        try await withCloud { test in
            try await importing("DEFINE SCHEMA CREATE ROLE editor;", test)
            let users = (0..<999).map { "_user\($0)" }
            try await test.store.write(Partition.schema(TestCloud.container, .development)) {
                $0.setSchemaRole("editor", users: users)
            }
            let cloud = test.restarted()
            func give(to user: UserID, _ isGiven: Bool = true) async throws {
                try await SetRoles(cloud).run(
                    "editor", isGiven: isGiven, to: user, in: TestCloud.container, .development)
            }
            try await give(to: TestCloud.ada)
            await expect(.itemLimitExceeded) { try await give(to: TestCloud.bob) }
            try await give(to: TestCloud.ada, false)
            try await give(to: TestCloud.bob)
            let members = try await SetRoles(cloud).members(in: TestCloud.container, .development)
            #expect(members["editor"]?.count == 1000)
        }
    }
}

extension String {
    fileprivate func with(_ text: String, with other: String) -> String {
        replacingOccurrences(of: text, with: other)
    }
}
