import CloudKitModel
import CloudKitSchema
import RandomSchemas
import SeededChance
import Testing

@Suite(.timeLimit(.minutes(20))) struct SchemaLanguageTests {
    private func fault(_ text: String) -> SchemaSyntaxError? {
        do throws(SchemaSyntaxError) {
            _ = try SchemaDocument(parsing: text)
            return nil
        } catch {
            return error
        }
    }

    private static let album = """
        // An app's albums.
        DEFINE SCHEMA
            CREATE ROLE editor; -- may change all of them
            /* The only
               type. */
            RECORD TYPE Album (
                "___createTime" TIMESTAMP QUERYABLE SORTABLE,
                "___recordID"   REFERENCE QUERYABLE SORTABLE,
                artist          REFERENCE QUERYABLE,
                cover           ASSET,
                diary           ENCRYPTED STRING,
                asset           BYTES QUERYABLE SORTABLE,
                "grant"         LIST<ENCRYPTED DOUBLE>,
                labels          LIST<STRING> SEARCHABLE QUERYABLE,
                place           LOCATION QUERYABLE SORTABLE,
                plays           INT64 QUERYABLE SORTABLE QUERYABLE,
                rating          NUMBER PREFERRED AS INT64,
                score           NUMBER,
                title           STRING QUERYABLE SORTABLE SEARCHABLE, // shown
                GRANT WRITE TO "_creator",
                GRANT READ, CREATE, WRITE TO editor,
                GRANT READ TO "_world"
            );
            RECORD TYPE "cloudkit.share" ("cloudkit.title" STRING);
            RECORD TYPE Empty ();
        """

    @Test func `every type, option and comment is read`() throws {
        let document = try SchemaDocument(parsing: Self.album)
        #expect(document.roles == ["editor"])
        let album = try #require(document["Album"])
        #expect(
            album.systemIndexes == [.createdTimestamp: [.queryable, .sortable], .recordName: [.queryable, .sortable]])
        #expect(album.fields["diary"]?.type == FieldType(.string, isEncrypted: true))
        #expect(album.fields["grant"]?.type == FieldType(.double, isList: true, isEncrypted: true))
        #expect(
            album.fields["labels"] == FieldDefinition(type: FieldType.string.list, indexes: [.queryable, .searchable]))
        #expect(album.fields["asset"] == FieldDefinition(type: .bytes))
        #expect(album.fields["rating"]?.type == .int64)
        #expect(album.fields["score"]?.type == .double)
        #expect(album.fields["title"]?.indexes == [.queryable, .sortable, .searchable])
        #expect(
            album.grants == [
                Grant(.write, to: "_creator"), Grant(.read, to: "_world"), Grant(.read, to: "editor"),
                Grant(.create, to: "editor"), Grant(.write, to: "editor"),
            ])
        #expect(document["Empty"]?.fields.isEmpty == true)
        #expect(document["cloudkit.share"]?.fields.keys.sorted() == ["cloudkit.title"])
    }

    @Test func `exports have one form`() throws {
        let document = try SchemaDocument(
            parsing: """
                define schema record type Note (title string sortable queryable, b LIST<INT64>,
                "___recordId" REFERENCE QUERYABLE, GRANT READ TO "_world", GRANT CREATE TO "_icloud");
                create role editor;
                """)
        #expect(
            document.text == """
                DEFINE SCHEMA

                    CREATE ROLE editor;

                    RECORD TYPE Note (
                        "___createTime" TIMESTAMP,
                        "___createdBy"  REFERENCE,
                        "___etag"       STRING,
                        "___modTime"    TIMESTAMP,
                        "___modifiedBy" REFERENCE,
                        "___recordID"   REFERENCE QUERYABLE,
                        b               LIST<INT64>,
                        title           STRING QUERYABLE SORTABLE,
                        GRANT CREATE TO "_icloud",
                        GRANT READ TO "_world"
                    );

                """)
    }

    @Test func `the exported form is a fixed point`() throws {
        let document = try SchemaDocument(parsing: Self.album)
        let again = try SchemaDocument(parsing: document.text)
        #expect(again == document)
        #expect(again.text == document.text)
        let empty = try SchemaDocument(parsing: "DEFINE SCHEMA")
        #expect(empty.text == "DEFINE SCHEMA\n")
    }

    @Test(arguments: [
        ("", 1, 1, "met the end of the schema, expected DEFINE"),
        ("DEFINE SCHEMA\n  RECORD Note", 2, 10, "met 'Note', expected TYPE"),
        ("DEFINE SCHEMA RECORD TYPE N (a STRING)", 1, 39, "met the end of the schema, expected ';'"),
        ("DEFINE SCHEMA RECORD TYPE N (a STRING,);", 1, 39, "met ')', expected the name of a field or GRANT"),
        (
            "DEFINE SCHEMA RECORD TYPE N (a STRIN);", 1, 32,
            "met 'STRIN', expected a type: ASSET, BYTES, DOUBLE, INT64, LOCATION, REFERENCE, STRING, TIMESTAMP, ENCRYPTED, NUMBER, LIST<…>"
        ),
        (
            "DEFINE SCHEMA RECORD TYPE N (a ENCRYPTED ASSET);", 1, 42,
            "met 'ASSET', expected a type: BYTES, DOUBLE, INT64, LOCATION, STRING, TIMESTAMP"
        ),
        (
            "DEFINE SCHEMA RECORD TYPE N (a LIST<LIST<STRING>>);", 1, 37,
            "met 'LIST', expected a type: ASSET, BYTES, DOUBLE, INT64, LOCATION, REFERENCE, STRING, TIMESTAMP, ENCRYPTED, NUMBER"
        ),
        ("DEFINE SCHEMA RECORD TYPE N (a ASSET QUERYABLE);", 1, 38, "ASSET cannot be QUERYABLE, expected ',' or ')'"),
        (
            "DEFINE SCHEMA RECORD TYPE N (a ENCRYPTED STRING SORTABLE);", 1, 49,
            "ENCRYPTED STRING cannot be SORTABLE, expected ',' or ')'"
        ),
        (
            "DEFINE SCHEMA RECORD TYPE N (a REFERENCE SORTABLE);", 1, 42,
            "REFERENCE cannot be SORTABLE, expected QUERYABLE, ',' or ')'"
        ),
        ("DEFINE SCHEMA RECORD TYPE N (a STRING, \"a\" INT64);", 1, 40, "the field '\"a\"' occurs twice"),
        ("DEFINE SCHEMA RECORD TYPE N (___etag STRING);", 1, 30, "met '___etag', expected \"___etag\" in quotes"),
        ("DEFINE SCHEMA RECORD TYPE N (\"___etag\" INT64);", 1, 40, "the type of '\"___etag\"' is STRING"),
        (
            "DEFINE SCHEMA RECORD TYPE N (sortable INT64);", 1, 30,
            "met the reserved word 'sortable', expected the name of a field or GRANT or \"sortable\" in quotes"
        ),
        ("DEFINE SCHEMA RECORD TYPE N (GRANT DELETE TO x);", 1, 36, "met 'DELETE', expected READ, CREATE or WRITE"),
        (
            "DEFINE SCHEMA RECORD TYPE N (GRANT READ TO x);", 1, 44,
            "the role x is not declared, expected CREATE ROLE x; or a system role"
        ),
        (
            "DEFINE SCHEMA RECORD TYPE N (GRANT READ TO \"_all\");", 1, 44,
            "'\"_all\"' is no role, expected _world, _icloud, _creator or a declared role"
        ),
        ("DEFINE SCHEMA RECORD TYPE N (); RECORD TYPE \"N\" ();", 1, 45, "the record type N is declared twice"),
        ("DEFINE SCHEMA /* é */ ?", 1, 23, "met the character '?', expected a name, a keyword or one of ( ) , ; < >"),
        ("DEFINE SCHEMA\n\n /* x", 3, 2, "the comment that begins here has no end, expected '*/'"),
        ("DEFINE SCHEMA RECORD TYPE \"N\n(", 1, 27, "the name that begins here has no end, expected '\"'"),
        ("DEFINE SCHEMA RECORD TYPE “N” ();", 1, 27, "met a typographic quote, expected the straight one '\"'"),
    ])
    func `faults name line, column and what was expected`(
        _ text: String, line: Int, column: Int, message: String
    ) {
        #expect(fault(text) == SchemaSyntaxError(line: line, column: column, message: message))
    }

    @Test func `limits hold`() {
        let many = (0..<257).map { "f\($0) INT64" }.joined(separator: ", ")
        #expect(fault("DEFINE SCHEMA RECORD TYPE N (\(many));")?.message == "a record type has at most 256 fields")
        let long = "DEFINE SCHEMA" + String(repeating: " ", count: SchemaDocument.textBytesMax)
        #expect(fault(long)?.message == "the schema is longer than 1048576 bytes")
    }

    /// Random schemas keep their meaning and form; texts with random damage are refused or keep theirs, and never crash.
    @Test(arguments: 0..<20) func `random schemas and damaged texts`(_ seed: UInt64) throws {
        var chance = SplitMix64(seed: seed)
        for _ in 0..<50 {
            let document = RandomSchema.document(&chance)
            let text = document.text
            let parsed = try SchemaDocument(parsing: text)
            #expect(parsed == document, "seed \(seed)")
            #expect(parsed.text == text, "seed \(seed)")
            var bytes = Array(text.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &chance) {
                let at = Int.random(in: 0..<bytes.count, using: &chance)
                switch Int.random(in: 0..<3, using: &chance) {
                case 0: bytes.remove(at: at)
                case 1: bytes[at] = UInt8.random(in: 0...255, using: &chance)
                default: bytes.insert(contentsOf: bytes[at...].prefix(9), at: at)
                }
            }
            let damaged = String(decoding: bytes, as: UTF8.self)
            do throws(SchemaSyntaxError) {
                let read = try SchemaDocument(parsing: damaged)
                #expect((try? SchemaDocument(parsing: read.text)) == read, "seed \(seed)")
            } catch {
                #expect(error.line >= 1 && error.column >= 1 && !error.message.isEmpty)
            }
        }
    }
}
