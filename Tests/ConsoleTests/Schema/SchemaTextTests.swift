import CloudKitModel
import CloudKitSchema
import CloudKitServer
import Testing

/// The pages that import, export, compare, deploy and reset schemas.
@Suite(.timeLimit(.minutes(5))) struct SchemaTextTests {
    private static let notes = "DEFINE SCHEMA\n\n    RECORD TYPE Note (\n        title STRING QUERYABLE\n    );\n"

    @Test func `a text is checked, imported and exported again`() async throws {
        try await OperatedCloud.run { test in
            let browser = try await test.browser()
            let path = OperatedCloud.path("schema/text")
            let checked = try await browser.submit(
                path, [("form", "import"), ("schema", Self.notes), ("action", "validate")])
            #expect(checked.status == 200 && checked.shows("The text is valid. An import makes"))
            #expect(checked.shows("+ RECORD TYPE Note"))
            #expect(try await test.cloud.schema(OperatedCloud.container, .development)["Note"] == nil)
            let imported = try await browser.submit(
                path, [("form", "import"), ("schema", Self.notes), ("action", "import")])
            #expect(imported.status == 200 && imported.shows("The schema is imported"))
            let exported = try await browser.get(OperatedCloud.path("schema/export"))
            #expect(exported.headers["content-type"] == "text/plain; charset=UTF-8")
            #expect(
                exported.headers["content-disposition"] == "attachment; filename=\"iCloud.com.example.notes.ckdb\"")
            #expect(try await exported.body == ExportSchema(test.cloud).run(of: OperatedCloud.container, .development))
            #expect(exported.shows("RECORD TYPE Note"))
            let again = try await browser.submit(
                path, [("form", "import"), ("schema", exported.body), ("action", "import")])
            #expect(again.shows("The schema was the same already."))
        }
    }

    @Test func `an error of a text is shown with its line, and the text stays`() async throws {
        try await OperatedCloud.run { test in
            let browser = try await test.browser()
            let text = "DEFINE SCHEMA\n  RECORD TYPE Note (\n    title <img src=x> STRING\n  );\n"
            let page = try await browser.submit(
                OperatedCloud.path("schema/text"), [("form", "import"), ("schema", text), ("action", "import")])
            #expect(page.status == 400)
            #expect(page.shows("Line 3, column 11:") && page.shows("id=\"import-schema-error\""))
            #expect(page.shows("<strong>    title &lt;img src=x&gt; STRING</strong>"))
            #expect(page.shows(">" + String(repeating: " ", count: 3 + 10) + "^"))
            #expect(!page.shows("<img"))
            let empty = try await browser.submit(
                OperatedCloud.path("schema/text"), [("form", "import"), ("schema", " \n"), ("action", "import")])
            #expect(empty.status == 400 && empty.shows("There is no schema to import."))
        }
    }

    @Test func `a removal of stored records by an import needs the box`() async throws {
        try await OperatedCloud.run { test in
            let ada = try await test.user("ada@example.com")
            #expect(try await test.save("first", by: ada) == nil)
            let browser = try await test.browser()
            let path = OperatedCloud.path("schema/text")
            let fields = [("form", "import"), ("schema", "DEFINE SCHEMA"), ("action", "import")]
            let refused = try await browser.submit(path, fields)
            #expect(refused.status == 400 && refused.shows("records of type Note are stored"))
            let done = try await browser.submit(path, fields + [("data", "on")])
            #expect(done.status == 200)
            #expect(try await test.cloud.schema(OperatedCloud.container, .development)["Note"] == nil)
        }
    }

    /// The hidden digest of the report that a page shows.
    private func report(_ page: FormBrowser.Page) -> String {
        guard let start = page.body.firstRange(of: "name=\"report\" value=\"") else { return "" }
        return String(page.body[start.upperBound...].prefix { $0 != "\"" })
    }

    @Test func `a deployment that is safe is done, one that is a risk needs the operator's word`() async throws {
        try await OperatedCloud.run { test in
            try await test.import(Self.notes)
            let browser = try await test.browser()
            let path = OperatedCloud.path("schema/deployment", "production")
            // From development the page leads to that of production.
            let first = try await browser.get(OperatedCloud.path("schema/deployment"))
            #expect(first.shows("+ RECORD TYPE Note") && !first.shows("name=\"force\""))
            let done = try await browser.submit(path, [("form", "deploy"), ("report", report(first))])
            #expect(done.status == 200 && done.shows("Deployed to production: 1 change.") && done.shows("Nothing:"))
            #expect(try await test.cloud.schema(OperatedCloud.container, .production)["Note"] != nil)

            try await test.import("DEFINE SCHEMA RECORD TYPE Note (title STRING);")
            let risky = try await browser.get(path)
            #expect(risky.shows("loses the index QUERYABLE") && risky.shows(">risk<") && risky.shows("name=\"force\""))
            let fields = [("form", "deploy"), ("report", report(risky))]
            let refused = try await browser.submit(path, fields)
            #expect(refused.status == 400 && refused.shows("id=\"deploy-force-error\""))
            #expect(
                try await test.cloud.schema(OperatedCloud.container, .production)["Note"]?.fields["title"]?.indexes
                    == .queryable)
            let forced = try await browser.submit(path, fields + [("force", "on")])
            #expect(forced.status == 200 && forced.shows("Deployed to production"))
            #expect(
                try await test.cloud.schema(OperatedCloud.container, .production)["Note"]?.fields["title"]?.indexes
                    == [])
            #expect(test.log.orders.filter { $0["order"] == "schema/deploy" }.map { $0["force"] } == ["no", "yes"])
        }
    }

    @Test func `a report that is out of date is not deployed`() async throws {
        try await OperatedCloud.run { test in
            try await test.import(Self.notes)
            let browser = try await test.browser()
            let path = OperatedCloud.path("schema/deployment", "production")
            let digest = report(try await browser.get(path))
            try await test.import(Self.notes + "RECORD TYPE Album (name STRING);")
            let page = try await browser.submit(path, [("form", "deploy"), ("report", digest), ("force", "on")])
            #expect(page.status == 400 && page.shows("the schemas have changed since"))
            #expect(page.shows("+ RECORD TYPE Album"))
            #expect(try await test.cloud.schema(OperatedCloud.container, .production)["Note"] == nil)
        }
    }

    @Test func `development is reset after its name was written`() async throws {
        try await OperatedCloud.run { test in
            let ada = try await test.user("ada@example.com")
            #expect(try await test.save("first", by: ada) == nil)
            let browser = try await test.browser()
            let path = OperatedCloud.path("schema/reset")
            #expect(try await browser.get(path).shows("1 database"))
            let wrong = try await browser.submit(path, [("form", "reset"), ("name", "iCloud.com.example.other")])
            #expect(wrong.status == 400 && wrong.shows("id=\"reset-name-error\""))
            #expect(try await test.cloud.schema(OperatedCloud.container, .development)["Note"] != nil)
            let done = try await browser.submit(path, [("form", "reset"), ("name", OperatedCloud.container.name)])
            #expect(done.status == 200 && done.shows("no records"))
            #expect(try await test.cloud.schema(OperatedCloud.container, .development)["Note"] == nil)
        }
    }
}
