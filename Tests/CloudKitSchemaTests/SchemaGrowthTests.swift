import CloudKitModel
import CloudKitSchema
import Testing

@Suite(.timeLimit(.minutes(20))) struct SchemaGrowthTests {
    private func growth(
        _ types: [RecordTypeDefinition] = [], in environment: Environment = .development, fieldsMax: Int = 256
    ) -> SchemaGrowth {
        let schema = Schema(types: Dictionary(uniqueKeysWithValues: types.map { ($0.name, $0) }))
        return SchemaGrowth(schema, environment: environment, fieldsMax: fieldsMax)
    }

    private func field(_ name: String, _ type: FieldType, _ json: String = "1") -> Field {
        Field(name: name, type: type, json: Array(json.utf8))
    }

    /// The reason for which fields are refused; nil if they are admitted.
    private func refusal(
        _ fields: [Field], of type: String = "Note", to growth: SchemaGrowth
    ) -> RequestFailure? {
        var growth = growth
        do throws(RequestFailure) {
            _ = try growth.admit(fields, of: type)
            return nil
        } catch {
            return error
        }
    }

    private let note = RecordTypeDefinition(
        name: "Note", fields: ["n": FieldDefinition(type: .int64), "to": FieldDefinition(type: .reference)])

    @Test func `B-SCH-01 the first record with them makes types and fields`() throws {
        var growth = growth()
        _ = try growth.admit([field("a", .string, "\"x\"")], of: "Note")
        #expect(growth.isGrown)
        #expect(growth.grownTypes == ["Note"])
        _ = try growth.admit([field("b", .int64)], of: "Note")
        #expect(growth.schema["Note"]?.fields.keys.sorted() == ["a", "b"])
        #expect(growth.schema["Note"]?.grants == Grant.defaults)
        let again = refusal([field("b", .string, "\"x\"")], to: growth)
        #expect(again?.code == .schemaMismatch)
    }

    @Test func `B-SCH-01 known types and fields do not change the schema`() throws {
        var growth = growth([note])
        _ = try growth.admit([field("n", .int64)], of: "Note")
        _ = try growth.admit([], of: "Note")
        #expect(!growth.isGrown)
    }

    @Test func `B-SCH-02 production refuses new types and fields`() {
        let production = growth([note], in: .production)
        let type = refusal([], of: "New", to: production)
        #expect(type?.reason == "Cannot create new type New in production schema")
        #expect(type?.code == .schemaMismatch)
        let field = refusal([field("x", .int64)], to: production)
        #expect(field?.reason == "Cannot create or modify field 'x' in record 'Note' in production schema")
        #expect(refusal([self.field("n", .int64)], to: production) == nil)
    }

    @Test func `B-REC-11 a value of another type is refused`() {
        let refused = refusal([field("to", .string, "\"x\"")], to: growth([note]))
        #expect(refused?.code == .schemaMismatch)
        #expect(
            refused?.reason == "invalid attempt to set value type STRING for field 'to' for type 'Note', defined to "
                + "be: REFERENCE")
        let encrypted = FieldType(.int64, isEncrypted: true)
        #expect(refusal([field("n", encrypted)], to: growth([note]))?.code == .schemaMismatch)
        #expect(refusal([field("n", FieldType.int64.list, "[1]")], to: growth([note]))?.code == .schemaMismatch)
    }

    @Test func `B-REC-12 an empty list makes no field`() throws {
        let empty = [
            field("l", FieldType.string.list, "[]"), field("l", FieldType(.unknown, isList: true, isGuess: true), "[]"),
        ]
        for list in empty {
            let refused = refusal([list], to: growth([note]))
            #expect(refused?.reason == "cannot use an empty list to initialize a new field")
            let known = RecordTypeDefinition(name: "Note", fields: ["l": FieldDefinition(type: FieldType.string.list)])
            var growth = growth([known])
            let admitted = try growth.admit([list], of: "Note")
            #expect(admitted[0].type == FieldType.string.list)
        }
    }

    @Test func `an untagged value takes the type of its field, and makes a definite one`() throws {
        let guess = FieldType(.int64, isGuess: true)
        let known = RecordTypeDefinition(
            name: "Note", fields: ["d": FieldDefinition(type: .double), "t": FieldDefinition(type: .timestamp)])
        var growth = growth([known])
        let admitted = try growth.admit([field("d", guess), field("n", guess), field("t", guess)], of: "Note")
        #expect(admitted.map(\.type) == [.double, .int64, .timestamp])
        #expect(growth.schema["Note"]?.fields["n"]?.type == .int64)
    }

    @Test func `B-LIM-06 a type has 256 fields at most`() throws {
        let fields = (0..<257).map { field("f\($0)", .int64) }
        #expect(refusal(Array(fields.prefix(256)), to: growth()) == nil)
        #expect(refusal(fields, to: growth())?.code == .schemaMismatch)
        // In two saves, as in one; a field that is there does not count again.
        var grown = growth()
        _ = try grown.admit(Array(fields.prefix(200)), of: "Note")
        #expect(refusal(Array(fields.prefix(256)), to: grown) == nil)
        #expect(refusal(Array(fields.suffix(57)), to: grown)?.code == .schemaMismatch)
        #expect(refusal(fields, of: "Other", to: grown)?.code == .schemaMismatch)
    }

    @Test func `a type has no more fields than its cloud's limit`() {
        let growth = growth([note], fieldsMax: 3)
        #expect(refusal([field("a", .int64)], to: growth) == nil)
        #expect(refusal([field("a", .int64), field("b", .int64)], to: growth)?.code == .schemaMismatch)
        #expect(refusal([field("a", .int64), field("a", .int64)], to: growth) == nil)
    }

    @Test func `B-LIM-12 system names are refused, B-LIM-14 and those of a record's attributes`() {
        for name in ["_x", "___recordID", "a$b"] {
            let refused = refusal([field(name, .int64)], to: growth([note]))
            #expect(refused?.reason == "Unprivileged attempt to insert a system field")
            #expect(refused?.code == .systemFieldWrite)
        }
        for name in ["", "1a", "a b", "é", "recordID", "etag", String(repeating: "n", count: 256)] {
            #expect(refusal([field(name, .int64)], to: growth([note]))?.code == .badRequest)
        }
    }

    @Test func `B-LIM-13 type names are words`() {
        for name in ["", "_x", "1a", "a b", "é"] {
            #expect(refusal([], of: name, to: growth())?.reason == "Did not find record type: \(name)")
        }
        #expect(refusal([], of: "CD_Note2", to: growth()) == nil)
    }

    @Test func `B-SCH-06 new fields have every index their type can have`() throws {
        let expected: [(FieldType, FieldIndexes)] = [
            (.string, [.queryable, .sortable, .searchable]), (.int64, [.queryable, .sortable]),
            (.double, [.queryable, .sortable]), (.timestamp, [.queryable, .sortable]),
            (.location, [.queryable, .sortable]), (.reference, [.queryable]), (.bytes, []), (.asset, []),
            (FieldType.string.list, [.queryable, .searchable]), (FieldType.int64.list, [.queryable]),
            (FieldType(.string, isEncrypted: true), []),
        ]
        for (type, indexes) in expected { #expect(FieldDefinition(justInTime: type).indexes == indexes, "\(type)") }
        #expect(RecordTypeDefinition(name: "Note").systemIndexes.isEmpty)
    }

    @Test func `B-USR-02 every schema has the type of users`() {
        #expect(Schema()["Users"] == .users)
        #expect(Schema()["Users"]?.fields["roles"]?.type == FieldType.int64.list)
    }

    @Test func `B-SHR-09 every schema has the type of shares, B-SCH-03 which production takes once it is deployed`()
        throws
    {
        #expect(Schema()["cloudkit.share"] == .shares)
        let title = field("cloudkit.title", .string, "\"x\"")
        let fresh = SchemaGrowth(Schema(), environment: .production, fieldsMax: 10)
        #expect(
            refusal([title], of: "cloudkit.share", to: fresh)?.reason
                == "Cannot create new type cloudkit.share in production schema")
        var development = growth()
        _ = try development.admit([title], of: "cloudkit.share")
        #expect(development.grownTypes == ["cloudkit.share"])
        var deployed = growth([.shares], in: .production)
        #expect(try deployed.admit([title], of: "cloudkit.share").count == 1)
        #expect(!deployed.isGrown)
    }

    @Test func `a schema adopts types that grew elsewhere, and keeps its own`() throws {
        var growth = growth([note])
        _ = try growth.admit([field("a", .string, "\"x\""), field("b", .int64)], of: "Note")
        var schema = Schema(types: ["Note": note])
        schema.types["Note"]?.fields["a"] = FieldDefinition(type: .double)
        #expect(schema.merge(growth) == ["Note"])
        #expect(schema["Note"]?.fields["a"]?.type == .double)
        #expect(schema["Note"]?.fields["b"]?.type == .int64)
        #expect(schema.merge(growth) == [])
    }
}
