import CloudKitModel
import Testing

@testable import CloudKitSchema

/// Changes that operators make by hand.
@Suite(.timeLimit(.minutes(5))) struct SchemaEditTests {
    private static let text = """
        DEFINE SCHEMA
            CREATE ROLE editor;
            RECORD TYPE Note (title STRING QUERYABLE, GRANT READ TO editor, GRANT READ TO "_world");
            RECORD TYPE Users (roles LIST<INT64>);
        """
    private let schema: SchemaDocument

    init() throws { schema = try SchemaDocument(parsing: Self.text) }

    @Test func `a change changes that alone`() throws {
        let typed = try schema.applying(.addType("Album"))
        #expect(typed.changes(from: schema).map(\.line) == ["+ RECORD TYPE Album (0 fields)"])
        #expect(typed["Album"]?.grants == Grant.defaults)
        let field = FieldDefinition(type: FieldType(.string, isList: true), indexes: [.searchable])
        #expect(
            try schema.applying(.addField("labels", of: "Note", field)).changes(from: schema).map(\.line) == [
                "+ Note.labels LIST<STRING> SEARCHABLE"
            ])
        #expect(
            try schema.applying(.removeField("title", of: "Note")).changes(from: schema).map(\.line) == ["- Note.title"]
        )
        #expect(try schema.applying(.removeType("Note")).changes(from: schema).map(\.line) == ["- RECORD TYPE Note"])
        #expect(try schema.applying(.addRole("author")).changes(from: schema).map(\.line) == ["+ ROLE author"])
        #expect(
            try schema.applying(.removeRole("editor")).changes(from: schema).map(\.line) == [
                "- ROLE editor", "- Note GRANT READ TO editor",
            ])
    }

    @Test(arguments: [
        SchemaEdit.addType("Note"), .addType("Users"), .addType("cloudkit.share"), .addType("1st"), .addType(""),
        .addType(String(repeating: "a", count: 256)), .removeType("Users"), .removeType("Album"),
        .addField("title", of: "Note", FieldDefinition(type: .string)),
        .addField("_own", of: "Note", FieldDefinition(type: .string)),
        .addField("", of: "Note", FieldDefinition(type: .string)),
        .addField("recordID", of: "Note", FieldDefinition(type: .string)),
        .addField("a", of: "Album", FieldDefinition(type: .string)),
        .addField("a", of: "Note", FieldDefinition(type: FieldType(.asset, isEncrypted: true))),
        .addField("a", of: "Note", FieldDefinition(type: FieldType(.string, isEncrypted: true), indexes: .queryable)),
        .removeField("roles", of: "Users"), .removeField("a", of: "Note"), .addRole("editor"), .addRole("_world"),
        .removeRole("author"),
    ]) func `what a schema cannot have is refused`(_ edit: SchemaEdit) {
        #expect(throws: RequestFailure.self) { try schema.applying(edit) }
    }

    @Test func `every type that can be chosen makes a schema that can be read`() throws {
        var edited = schema
        for (number, type) in FieldType.choices.enumerated() {
            edited = try edited.applying(.addField("single\(number)", of: "Note", FieldDefinition(type: type)))
            edited = try edited.applying(.addField("list\(number)", of: "Note", FieldDefinition(type: type.list)))
        }
        #expect(FieldType.choices.count == 14)
        #expect(try SchemaDocument(parsing: edited.text) == edited)
    }

    @Test func `a type has no more fields than its limit`() throws {
        let field = FieldDefinition(type: .string)
        let full = try schema.applying(.addField("second", of: "Note", field), fieldsMax: 2)
        #expect(throws: RequestFailure.self) { try full.applying(.addField("third", of: "Note", field), fieldsMax: 2) }
    }
}
