import CloudKitModel
import CloudKitServer

/// The users who have a private database, page by page, each with a link to a page about it, and a form that finds one by address or
/// name.
struct PrivateDatabaseList {
    private let database: DatabaseChoice
    private let databases: [DatabaseSummary]

    /// Databases on a page.
    private static let databasesMax = 50

    /// Reads the databases of the request's page.
    init(_ database: DatabaseChoice, _ request: PageRequest) async throws {
        self.database = database
        databases = try await database.inspection(request.cloud).privateDatabases(
            after: request.query["after"].map { UserID($0) }, limit: Self.databasesMax + 1)
    }

    /// Returns the form and the list.
    ///
    /// - Parameters:
    ///   - page: The page to which they lead.
    ///   - label: The name of the form.
    ///   - problem: What is wrong with the form that was sent.
    func html(page: String, label: String, _ request: PageRequest, _ problem: FormProblem? = nil) -> HTML {
        let form = SentForm("person", of: request, problem)
        return HTML([
            // Sent as a form, so that no address of a page has that of a person.
            form.html(request, to: database.page(page), label: label) {
                form.text("Person", name: "person", hint: PersonField.hint, isRequired: true, lengthMax: 254)
                Input.submit("Show")
            },
            Part.table(
                caption: "Private databases, by user", columns: ["User", "Zones", "Records", "Size"],
                rows: databases.prefix(Self.databasesMax).map { summary in
                    [
                        Part.link(
                            summary.user.recordName, database.page(page, query: ["user": summary.user.recordName])),
                        Part.number(summary.zoneCount), Part.number(summary.recordCount),
                        Part.bytes(summary.recordBytes),
                    ]
                }, empty: "There is no private database yet."),
            databases.count > Self.databasesMax ? more(page) : HTML(),
        ])
    }

    private func more(_ page: String) -> HTML {
        Tag.p {
            Part.link(
                "More private databases",
                database.page(page, query: ["after": databases[Self.databasesMax - 1].user.recordName]))
        }
    }
}
