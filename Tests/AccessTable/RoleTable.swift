/// The parsed table of `docs/access.md` about roles in the public database.
package struct RoleTable: Sendable {
    /// What a caller does with a record of a type with these grants, with its expected result.
    package struct Cell: Sendable {
        /// As the schema's language has them, without `GRANT`.
        package var grants: String
        package var verb: String
        package var caller: Caller
        package var word: String

        package var name: String { "\(grants): \(verb), \(caller.rawValue)" }
    }

    /// The columns of the table.
    package enum Caller: String, CaseIterable, Sendable {
        case creator, editor, reader, elsewhere, other
        case signedOut = "signed out"
    }

    package let cells: [Cell]

    /// Reads the table.
    ///
    /// - Throws: An error if the page is missing or a line is not a row of the table.
    package init() throws {
        let table = try DocumentedTable<Caller>(from: "<!-- roles", to: "<!-- end of roles", columns: 2)
        cells = table.rows.flatMap { row in
            row.words.map { caller, word in
                Cell(grants: row.subject[0], verb: row.subject[1], caller: caller, word: word)
            }
        }
    }
}
