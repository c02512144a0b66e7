import CloudKitModel
import CloudKitServer

/// The users who have a private database, page by page, each with a link to a page about it, and a form that finds one by name.
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
    func html(page: String, label: String) -> HTML {
        HTML([
            viewForm(database.page(page), label: label) {
                Input.text(
                    "User's record name", name: "user", hint: "As records show it: _ and 32 digits", isRequired: true)
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
