/// The parsed table of `docs/access.md`.
package struct AccessTable: Sendable {
    /// An operation on an object by a role, with its expected result.
    package struct Cell: Sendable {
        package var role: Role
        package var database: String
        package var object: String
        package var verb: String
        package var word: String

        package var name: String { "\(database), \(object), \(verb), \(role.rawValue)" }
    }

    package enum Role: String, CaseIterable, Sendable {
        case owner, administrator
        case readWrite = "read-write"
        case readOnly = "read-only"
        case `public`, pending, removed, stranger
        case signedOut = "signed out"
    }

    package let cells: [Cell]

    /// Reads the table.
    ///
    /// - Throws: An error if the page is missing or a line is not a row of the table.
    package init() throws {
        let table = try DocumentedTable<Role>(from: "<!-- table", to: "<!-- end", columns: 3)
        cells = table.rows.flatMap { row in
            row.words.map { role, word in
                Cell(role: role, database: row.subject[0], object: row.subject[1], verb: row.subject[2], word: word)
            }
        }
    }
}
