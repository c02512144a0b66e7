import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema
import CloudKitServer
import OrderedStore
import Testing

@Suite(.timeLimit(.minutes(20))) struct SchemaTests {
    private func type(_ test: TestCloud, _ name: String = "Note") async throws -> RecordTypeDefinition? {
        try await test.cloud.schema(TestCloud.container, .development)[name]
    }

    @Test(arguments: Engine.allCases)
    func `B-SCH-01 the first save makes types and fields, for every process`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let other = test.restarted()
            let empty = try await other.schema(TestCloud.container, .development)
            #expect(empty["Note"] == nil)
            try await test.modify([create("R1", "Note", text("a", "x")), create("R2", "Note", number("n", 1))])
            let note = try await type(test)
            #expect(note?.fields["a"] == FieldDefinition(type: .string, indexes: [.queryable, .sortable, .searchable]))
            #expect(note?.fields["n"] == FieldDefinition(type: .int64, indexes: [.queryable, .sortable]))
            let seen = try await other.schema(TestCloud.container, .development)
            #expect(seen["Note"] == note)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-REC-11 a value of another type is the record's failure`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            let outcomes = try await test.modify(
                [create("R1", "Note", text("a", "x")), create("R2", "Note", number("a", 1))], atomic: false)
            #expect(outcomes[0].record != nil)
            #expect(outcomes[1].code == .schemaMismatch)
            // A process that has not seen the field yet finds out before it saves.
            let other = test.restarted()
            let refused = try await ModifyRecords(other).run(
                ModifyRecordsRequest(
                    operations: [create("R3", "Note", number("a", 1))], zoneID: ZoneID(zoneName: "Z")),
                in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))[0]
            #expect(refused.code == .schemaMismatch)
        }
    }

    @Test func `B-LIM-06 the cloud's own limit is 256 fields of a type`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            func record(_ name: String, _ fields: Range<Int>) -> RecordOperation {
                RecordOperation(
                    .create,
                    RecordChange(recordName: name, recordType: "Wide", fields: fields.map { number("f\($0)", 1) }))
            }
            #expect(try await test.modify([record("R0", 0..<256)])[0].record != nil)
            #expect(try await test.modify([record("R1", 1..<257)])[0].code == .schemaMismatch)
            #expect(try await test.modify([record("R2", 0..<256)])[0].record != nil)
        }
    }

    @Test func `B-SCH-01 a batch that fails as a whole makes no field`() async throws {
        try await withCloud { test in
            try await test.makeZone()
            try await test.modify([create("R1")])
            try await test.modify([create("R1"), create("R2", "Note", text("new", "x"))])
            let note = try await type(test)
            #expect(note?.fields.isEmpty == true)
        }
    }

    @Test func `B-SCH-02 production accepts the deployed schema, B-SCH-04 and no more`() async throws {
        try await withCloud { test in
            func save(_ operation: RecordOperation) async throws -> RecordOutcome {
                try await test.modify([operation], zone: "_defaultZone", in: .private, .production)[0]
            }
            let unknown = try await save(create("R1", "Note", text("a", "x")))
            #expect(unknown.failure?.reason == "Cannot create new type Note in production schema")
            try await test.modify([create("R1", "Note", text("a", "x"))], zone: "_defaultZone")
            try await DeploySchema(test.cloud).run(of: TestCloud.container)
            let known = try await save(create("R1", "Note", text("a", "x")))
            #expect(known.record != nil)
            let field = try await save(create("R2", "Note", text("b", "x")))
            #expect(
                field.failure?.reason
                    == "Cannot create or modify field 'b' in record 'Note' in production schema")
            // A second deployment adds, and does not take away.
            try await test.modify([create("R2", "Note", text("b", "x"))], zone: "_defaultZone")
            try await SetIndex(test.cloud).run(
                [.queryable], on: .field("a"), ofType: "Note", in: TestCloud.container, .development)
            // It drops an index, which needs the operator's word.
            await expect(.schemaMismatch) { try await DeploySchema(test.cloud).run(of: TestCloud.container) }
            try await DeploySchema(test.cloud).run(of: TestCloud.container, force: true)
            let production = try await test.cloud.schema(TestCloud.container, .production)["Note"]
            #expect(production?.fields.keys.sorted() == ["a", "b"])
            #expect(production?.fields["a"]?.indexes == [.queryable])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SCH-07 an index set later is built over older records, and kept from then on`(
        _ engine: Engine
    ) async throws {
        try await withCloud(engine) { test in
            try await test.makeZone()
            try await test.modify((0..<150).map { create("R\($0)", "Note", text("a", "x\($0)")) })
            try await test.modify((150..<300).map { create("R\($0)", "Note", text("a", "x\($0)")) })
            let partition = Partition.privateDatabase(TestCloud.container, .development, of: TestCloud.ada)
            func entries() async throws -> Int {
                try await test.store.read(partition) { try await $0.scan(Subspace.index.range, limit: .max).count }
            }
            let before = try await entries()
            func set(_ indexes: FieldIndexes, _ key: QueryKey) async throws {
                try await SetIndex(test.cloud).run(
                    indexes, on: key, ofType: "Note", in: TestCloud.container, .development)
            }
            // A process with the schema from before must not leave records out.
            let other = test.restarted()
            _ = try await other.schema(TestCloud.container, .development)
            try await set([.queryable], .system(.createdTimestamp))
            let built = try await entries()
            #expect(built == before + 300)
            let note = try await type(test)
            #expect(note?.systemIndexes[.createdTimestamp] == [.queryable])
            #expect(note?.systemBuilding.isEmpty == true)
            _ = try await ModifyRecords(other).run(
                ModifyRecordsRequest(operations: [delete("R0")], zoneID: ZoneID(zoneName: "Z")),
                in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
            let perRecord = before / 300
            let deleted = try await entries()
            #expect(deleted == built - perRecord - 1)
            try await set([], .system(.createdTimestamp))
            let dropped = try await entries()
            #expect(dropped == before - perRecord)
            await expect(.badRequest) { try await set([.searchable], .system(.createdTimestamp)) }
            await expect(.badRequest) { try await set([.queryable], .field("nothing")) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-USR-02 a user's record is made once in both databases, and is theirs`(_ engine: Engine) async throws {
        try await withCloud(engine) { test in
            for _ in 0..<2 {
                try await CreateUserRecords(test.cloud).run(TestCloud.ada, in: TestCloud.container, .development)
            }
            let name = TestCloud.ada.recordName
            for scope in [DatabaseScope.private, .public] {
                let record = try await test.record(name, zone: "_defaultZone", in: scope)
                #expect(record?.recordType == "Users")
                #expect(record?.fields == [])
                let operation = RecordOperation(
                    .update, RecordChange(recordName: name, fields: [text("nick", "A")], changeTag: record?.changeTag))
                let updated = try await test.modify([operation], zone: "_defaultZone", in: scope)[0].record
                #expect(updated?.json("nick") == "\"A\"")
            }
            let bob = try await test.modify(
                [save(.forceUpdate, name, "Users")], zone: "_defaultZone", in: .public, by: Caller(user: TestCloud.bob))
            #expect(bob[0].code == .accessDenied)
        }
    }
}
