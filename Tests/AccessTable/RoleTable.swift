import Foundation

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
        let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/access.md")
        let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").map(String.init)
        guard let start = lines.firstIndex(where: { $0.hasPrefix("<!-- roles") }),
            let end = lines.firstIndex(where: { $0.hasPrefix("<!-- end of roles") })
        else { throw AccessTable.TableError.noTable }
        let rows = lines[(start + 1)..<end].map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        guard let head = rows.first, rows.count > 2 else { throw AccessTable.TableError.noTable }
        guard head.dropFirst(2).map({ Caller(rawValue: $0) }) == Caller.allCases.map(Optional.some) else {
            throw AccessTable.TableError.badHead(head)
        }
        cells = try rows.dropFirst(2).flatMap { row in
            guard row.count == 2 + Caller.allCases.count else { throw AccessTable.TableError.badRow(row) }
            return zip(Caller.allCases, row.dropFirst(2)).map { caller, word in
                Cell(grants: row[0], verb: row[1], caller: caller, word: word)
            }
        }
    }
}
