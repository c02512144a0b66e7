import CloudKitHTTP
import CloudKitModel
import CloudKitSchema
import CloudKitServer
import HTTPTypes

/// The schema as text: its export, and in development its import.
struct SchemaTextPage: FormPage {
    let path = "containers/{container}/{environment}/schema/text"
    let title = "Schema as text"
    /// A text of the largest size, each byte percent-encoded.
    let formBytesMax = 3 * SchemaDocument.textBytesMax + 65_536

    func carryOut(_ request: PageRequest) async throws -> PageResponse {
        let place = try request.developmentPlace
        let text = request.form.exact("schema") ?? ""
        guard text.contains(where: { !$0.isWhitespace }) else {
            throw FormProblem("schema", "there is no schema to import", remedy: "Paste one, or choose a file.")
        }
        do throws(SchemaSyntaxError) {
            _ = try SchemaDocument(parsing: text)
        } catch {
            return try await page(request, .syntax(error, text))
        }
        if request.form["action"] == "validate" {
            let changes = try await ImportSchema(request.cloud).validate(text, in: place.container)
            return try await page(request, .valid(changes))
        }
        let changes = try await request.order("schema/import") {
            try await ImportSchema(request.cloud).run(
                text, in: place.container, removesData: request.form.has("data"), waits: false)
        }
        return .redirect(
            try request.containerAddress("schema"),
            notice: changes.isEmpty
                ? "The schema was the same already." : "The schema is imported, with \(ChangeText.count(changes)).")
    }

    /// What is known of the text that was sent.
    private enum Verdict {
        case none
        case problem(FormProblem)
        case syntax(SchemaSyntaxError, String)
        case valid([SchemaChange])
    }

    func page(_ request: PageRequest, _ problem: FormProblem?) async throws -> PageResponse {
        try await page(request, problem.map { .problem($0) } ?? .none)
    }

    private func page(_ request: PageRequest, _ verdict: Verdict) async throws -> PageResponse {
        let place = try request.place
        let text = try await ExportSchema(request.cloud).run(of: place.container, place.environment)
        let here = try request.containerAddress("schema", "text")
        let file = try request.containerAddress("schema", "export")
        var problem: FormProblem?
        var status = HTTPResponse.Status.ok
        if case .problem(let found) = verdict { problem = found }
        if case .syntax(let error, _) = verdict {
            problem = FormProblem(error.failure, field: "schema")
            status = .badRequest
        }
        let form = SentForm("import", of: request, problem)
        return .page(trail: [TrailLink("Schema", try request.containerAddress("schema"))], status: status) {
            if place.environment == .development {
                Part.section("Import", id: "import") {
                    switch verdict {
                    case .syntax(let error, let text): SchemaPlacePart.html(of: error, in: text)
                    case .valid(let changes): Self.valid(changes)
                    case .none, .problem: HTML()
                    }
                    form.html(request, to: here) {
                        Tag.div(
                            .class("field wide"), .isHidden(true), .data("data-reads-into", form.elementID("schema"))
                        ) {
                            Tag.label(.for("schema-file"), text: "Read a file")
                            Tag.input(.id("schema-file"), .type("file"))
                        }
                        form.lines(
                            "Schema", name: "schema", value: text,
                            hint: "In the CloudKit schema language. It takes the place of development's schema.",
                            rows: 20,
                            isCode: true)
                        form.check(
                            "Delete the records of removed types, and those that have removed fields", name: "data")
                        Tag.div(.class("field buttons")) {
                            Tag.button(
                                .type("submit"), .name("action"), .value("validate"), text: "Check, change nothing")
                            Tag.button(
                                .type("submit"), .name("action"), .value("import"), .class("primary"), text: "Import")
                        }
                    }
                }
            }
            Part.section("Export", id: "export") {
                Tag.p { Part.link("Download \(place.container.name).ckdb", file) }
                Tag.pre(.tabIndex(0), .label("The schema of \(place.environment.rawValue)"), .role("region")) {
                    Tag.code(text)
                }
            }
        }
    }

    private static func valid(_ changes: [SchemaChange]) -> HTML {
        HTML([
            Part.status(
                changes.isEmpty
                    ? "The text is valid, and the same as the schema of development."
                    : "The text is valid. An import makes \(ChangeText.count(changes))."),
            changes.isEmpty ? HTML() : ChangeText.table(changes, caption: "Changes of an import"),
        ])
    }
}

/// Shows the place of an error in a schema.
enum SchemaPlacePart {
    /// Returns the lines around an error, with their numbers and a mark below its column.
    static func html(of error: SchemaSyntaxError, in text: String) -> HTML {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let first = max(0, error.line - 3)
        let shown = lines.dropFirst(first).prefix(min(5, error.line - first + 1))
        return Tag.pre(.label("Line \(error.line)"), .role("region"), .tabIndex(0)) {
            shown.enumerated().map { offset, line in
                let number = first + offset + 1
                let isWrong = number == error.line
                let prefix = "\(number)  "
                // The end of a long line matters less than the mark.
                let text = String(line.prefix(max(error.column + 20, 200)).prefix(1000))
                return HTML([
                    HTML(prefix), isWrong ? Tag.strong(text) : HTML(text), HTML("\n"),
                    isWrong && error.column <= 1000
                        ? Tag.span(
                            .isHiddenFromReaders(),
                            text: String(repeating: " ", count: prefix.count + max(0, error.column - 1)) + "^\n")
                        : HTML(),
                ])
            }
        }
    }
}

/// The changes of schemas in words.
enum ChangeText {
    /// Returns how many there are.
    static func count(_ changes: [SchemaChange]) -> String {
        changes.count == 1 ? "1 change" : "\(changes.count) changes"
    }

    /// Returns a table of changes.
    static func table(_ changes: [SchemaChange], caption: String) -> HTML {
        Part.table(
            caption: caption, columns: ["Change", "Kind"],
            rows: changes.map { change in [Part.code(change.line), kind(change)] })
    }

    private static func kind(_ change: SchemaChange) -> HTML {
        switch change {
        case .addRole, .addType, .addField, .addGrant: Part.mark("added", .good)
        case .removeRole, .removeType, .removeField, .removeGrant: Part.mark("removed", .bad)
        case .changeType, .changeIndexes: Part.mark("changed", .warn)
        }
    }
}

/// The schema as a file to download.
struct SchemaExportPage: ConsolePage {
    let path = "containers/{container}/{environment}/schema/export"
    let title = "Export"

    func show(_ request: PageRequest) async throws -> PageResponse {
        let place = try request.place
        let text = try await ExportSchema(request.cloud).run(of: place.container, place.environment)
        var headers = ConsoleHeaders.all
        // The name of a container has letters, digits, dots, hyphens and underscores alone.
        headers[.contentDisposition] = "attachment; filename=\"\(place.container.name).ckdb\""
        return .response(
            EndpointResponse(contentType: "text/plain; charset=UTF-8", body: Array(text.utf8), headers: headers))
    }
}
