import Foundation

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
        let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/access.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let lines = text.split(separator: "\n").map(String.init)
        guard let start = lines.firstIndex(where: { $0.hasPrefix("<!-- table") }),
            let end = lines.firstIndex(where: { $0.hasPrefix("<!-- end") })
        else { throw TableError.noTable }
        let rows = lines[(start + 1)..<end].map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        guard let head = rows.first, rows.count > 2 else { throw TableError.noTable }
        let roles = head.dropFirst(3).map { Role(rawValue: $0) }
        guard roles == Role.allCases.map(Optional.some) else { throw TableError.badHead(head) }
        cells = try rows.dropFirst(2).flatMap { row in
            guard row.count == 3 + roles.count else { throw TableError.badRow(row) }
            return zip(Role.allCases, row.dropFirst(3)).map { role, word in
                Cell(role: role, database: row[0], object: row[1], verb: row[2], word: word)
            }
        }
    }

    enum TableError: Error {
        case noTable
        case badHead([String])
        case badRow([String])
    }
}
