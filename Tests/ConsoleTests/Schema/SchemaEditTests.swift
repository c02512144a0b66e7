import CloudKitModel
import CloudKitSchema
import CloudKitServer
import Testing

/// The pages on which operators edit the schema of development.
@Suite(.timeLimit(.minutes(5))) struct SchemaEditTests {
    private func schema(
        _ test: OperatedCloud, _ environment: CloudKitModel.Environment = .development
    ) async throws -> Schema {
        try await test.cloud.schema(OperatedCloud.container, environment)
    }

    @Test func `types and fields are added, encrypted ones too`() async throws {
        try await OperatedCloud.run { test in
            let browser = try await test.browser()
            let path = OperatedCloud.path("schema")
            #expect(try await browser.get(path).shows("Add record type"))
            let added = try await browser.submit(path, [("form", "add-type"), ("name", "Note")])
            #expect(added.status == 200 && added.shows("Record type Note is added."))
            let type = OperatedCloud.path("schema/types/Note")
            #expect(try await browser.get(type).shows("Encrypted String"))
            for (name, word, more) in [
                ("title", "STRING", [("index", "QUERYABLE"), ("index", "SORTABLE")]),
                ("diary", "ENCRYPTED STRING", []), ("labels", "STRING", [("list", "on")]),
            ] {
                let page = try await browser.submit(
                    type, [("form", "add-field"), ("name", name), ("type", word)] + more)
                #expect(page.status == 200 && page.shows("Field \(name) is added"))
            }
            let fields = try await schema(test)["Note"]?.fields
            #expect(fields?["title"]?.type == .string && fields?["title"]?.indexes == [.queryable, .sortable])
            #expect(fields?["diary"]?.type == FieldType(.string, isEncrypted: true))
            #expect(fields?["labels"]?.type == FieldType(.string, isList: true))
            #expect(try await browser.get(type).shows("List of String"))
            #expect(test.log.orders.filter { $0["order"] == "schema/edit" && $0["outcome"] == "done" }.count == 4)
        }
    }

    @Test(arguments: ["", "1st", "_own", "has space", "<script>alert(1)</script>", "Users", "Note"])
    func `a wrong name of a type is named at the field, and changes nothing`(_ name: String) async throws {
        try await OperatedCloud.run { test in
            let browser = try await test.browser()
            let path = OperatedCloud.path("schema")
            _ = try await browser.submit(path, [("form", "add-type"), ("name", "Note")])
            let before = try await schema(test)
            let page = try await browser.submit(path, [("form", "add-type"), ("name", name)])
            #expect(page.status == 400)
            #expect(page.shows("aria-invalid=\"true\"") && page.shows("id=\"add-type-name-error\""))
            #expect(!page.shows("<script>alert"))
            #expect(try await schema(test) == before)
        }
    }

    @Test func `a field that its type does not allow is refused at its place`() async throws {
        try await OperatedCloud.run { test in
            try await test.import("DEFINE SCHEMA RECORD TYPE Note (title STRING);")
            let browser = try await test.browser()
            let type = OperatedCloud.path("schema/types/Note")
            let indexed = try await browser.submit(
                type,
                [("form", "add-field"), ("name", "diary"), ("type", "ENCRYPTED STRING"), ("index", "QUERYABLE")])
            #expect(
                indexed.status == 400 && indexed.shows("cannot have this index") && indexed.shows("value=\"diary\""))
            let taken = try await browser.submit(type, [("form", "add-field"), ("name", "title"), ("type", "STRING")])
            #expect(taken.status == 400 && taken.shows("id=\"add-field-name-error\""))
            let unknown = try await browser.submit(type, [("form", "add-field"), ("name", "a"), ("type", "BLOB")])
            #expect(unknown.status == 400 && unknown.shows("id=\"add-field-type-error\""))
            #expect(try await schema(test)["Note"]?.fields.count == 1)
        }
    }

    @Test func `indexes are set in the background, and those of other fields stay`() async throws {
        try await OperatedCloud.run { test in
            let ada = try await test.user("ada@example.com")
            #expect(try await test.save("first", by: ada) == nil)
            let browser = try await test.browser()
            let type = OperatedCloud.path("schema/types/Note")
            let page = try await browser.submit(
                type,
                [
                    ("form", "indexes"), ("field", "title"), ("field", "___recordID"), ("index", "title SEARCHABLE"),
                    ("index", "___recordID QUERYABLE"),
                ])
            #expect(page.status == 200 && page.shows("Indexes of title, ___recordID are set"))
            #expect(page.shows("building"))
            #expect(try await schema(test)["Note"]?.systemBuilding[.recordName] == .queryable)
            while try await FinishIndexBuilds(test.cloud).runWaiting() {}
            let note = try await schema(test)["Note"]
            #expect(note?.fields["title"]?.indexes == .searchable)
            #expect(note?.systemIndexes[.recordName] == .queryable && note?.systemBuilding.isEmpty == true)
            #expect(try await !browser.get(type).shows(">building<"))
            // A row that the form does not have is left alone.
            _ = try await browser.submit(type, [("form", "indexes"), ("field", "___recordID")])
            #expect(try await schema(test)["Note"]?.fields["title"]?.indexes == .searchable)
            #expect(try await schema(test)["Note"]?.systemIndexes[.recordName] == nil)
            let refused = try await browser.submit(
                type, [("form", "indexes"), ("field", "___share"), ("index", "___share SORTABLE")])
            #expect(refused.status == 400 && refused.shows("cannot have this index"))
        }
    }

    @Test func `grants are set for the roles of the schema alone`() async throws {
        try await OperatedCloud.run { test in
            try await test.import("DEFINE SCHEMA CREATE ROLE editor; RECORD TYPE Note (title STRING);")
            let browser = try await test.browser()
            let page = try await browser.submit(
                OperatedCloud.path("schema/types/Note"),
                [("form", "grants"), ("grant", "READ _world"), ("grant", "WRITE editor"), ("grant", "READ nobody")])
            #expect(page.status == 200)
            #expect(
                try await schema(test)["Note"]?.grants == [Grant(.read, to: "_world"), Grant(.write, to: "editor")])
        }
    }

    @Test func `roles are added, given by address or name, taken, and removed with their grants`() async throws {
        try await OperatedCloud.run { test in
            try await test.import("DEFINE SCHEMA RECORD TYPE Note (title STRING);")
            let ada = try await test.user("ada@example.com")
            let bob = try await test.user("bob@example.com")
            let browser = try await test.browser()
            let added = try await browser.submit(
                OperatedCloud.path("schema"), [("form", "add-role"), ("name", "editor")])
            #expect(added.shows("Role editor is added."))
            let role = OperatedCloud.path("schema/roles/editor")
            _ = try await browser.submit(role, [("form", "give"), ("person", "ada@example.com")])
            _ = try await browser.submit(role, [("form", "give"), ("person", bob.recordName)])
            #expect(try await schema(test).roleMembers["editor"] == [ada, bob])
            for unknown in ["eve@example.com", "_nobody", ""] {
                let page = try await browser.submit(role, [("form", "give"), ("person", unknown)])
                #expect(page.status == 400 && page.shows("id=\"give-person-error\""))
            }
            let shown = try await browser.get(role)
            #expect(shown.shows(ada.recordName) && !shown.shows("ada@example.com"))
            _ = try await browser.submit(role, [("user", bob.recordName)])
            #expect(try await schema(test).roleMembers["editor"] == [ada])
            _ = try await browser.submit(
                OperatedCloud.path("schema/types/Note"), [("form", "grants"), ("grant", "READ editor")])
            let removed = try await browser.submit(
                OperatedCloud.path("schema/remove"), [("form", "remove"), ("role", "editor")])
            #expect(removed.shows("role editor is removed."))
            let left = try await schema(test)
            #expect(left.roles.isEmpty && left["Note"]?.grants == [])
            #expect(try await browser.get(role).status == 404)
        }
    }

    @Test func `what is stored is removed only with its records, and what is in production not at all`() async throws {
        try await OperatedCloud.run { test in
            let ada = try await test.user("ada@example.com")
            try await test.import("DEFINE SCHEMA RECORD TYPE Note (title STRING);")
            try await DeploySchema(test.cloud).run(of: OperatedCloud.container, force: true)
            #expect(try await test.save("first", "Note", "draft", by: ada) == nil)
            let browser = try await test.browser()
            let type = try await browser.get(OperatedCloud.path("schema/types/Note"))
            #expect(type.shows("Remove draft") && !type.shows("Remove title") && type.shows("in production"))
            let path = OperatedCloud.path("schema/remove")
            #expect(try await browser.get(path + "?type=Note&field=draft").shows("Remove field Note.draft"))
            let stored = try await browser.submit(path, [("form", "remove"), ("type", "Note"), ("field", "draft")])
            #expect(stored.status == 400 && stored.shows("records of type Note with draft are stored"))
            #expect(try await schema(test)["Note"]?.fields["draft"] != nil)
            let done = try await browser.submit(
                path, [("form", "remove"), ("type", "Note"), ("field", "draft"), ("data", "on")])
            #expect(done.status == 200 && done.shows("field Note.draft is removed."))
            #expect(try await schema(test)["Note"]?.fields["draft"] == nil)
            for fields in [[("type", "Note"), ("field", "title")], [("type", "Note")]] {
                let page = try await browser.submit(path, fields + [("form", "remove"), ("data", "on")])
                #expect(page.status == 400 && page.shows("in production and cannot be removed"))
            }
            #expect(try await browser.get(path + "?type=Nothing").status == 404)
            #expect(try await browser.submit(path, [("form", "remove"), ("type", "Users")]).status == 400)
        }
    }

    @Test func `production is shown and cannot be edited`() async throws {
        try await OperatedCloud.run { test in
            try await test.import("DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE);")
            try await DeploySchema(test.cloud).run(of: OperatedCloud.container, force: true)
            let browser = try await test.browser()
            let page = try await browser.get(OperatedCloud.path("schema/types/Note", "production"))
            #expect(page.status == 200 && page.shows("title") && !page.shows("Set indexes"))
            let before = try await schema(test, .production)
            for (path, fields) in [
                ("schema", [("form", "add-type"), ("name", "Other")]),
                ("schema/types/Note", [("form", "indexes"), ("field", "title")]),
                ("schema/types/Note", [("form", "grants")]),
                ("schema/text", [("form", "import"), ("schema", "DEFINE SCHEMA"), ("action", "import")]),
            ] {
                let page = try await browser.submit(OperatedCloud.path(path, "production"), fields)
                #expect(page.status == 403, "\(path)")
            }
            #expect(try await browser.get(OperatedCloud.path("schema/reset", "production")).status == 403)
            #expect(try await schema(test, .production) == before)
        }
    }
}
