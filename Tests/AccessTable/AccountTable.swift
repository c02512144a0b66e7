import Foundation

/// The parsed table of `docs/access.md` about requests that concern an account.
package struct AccountTable: Sendable {
    /// What a caller does with an account, with its expected result.
    package struct Cell: Sendable {
        package var endpoint: String
        package var caller: Caller
        package var word: String

        package var name: String { "\(endpoint), \(caller.rawValue)" }
    }

    /// The columns of the table.
    package enum Caller: String, CaseIterable, Sendable {
        case device
        case cloudPage = "page of the cloud"
        case appPage = "page of an app"
        case endedDevice = "ended device"
        case wrongSecret = "wrong secret"
        case wrongPassword = "wrong password"
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
        guard let start = lines.firstIndex(where: { $0.hasPrefix("<!-- accounts") }),
            let end = lines.firstIndex(where: { $0.hasPrefix("<!-- end of accounts") })
        else { throw AccessTable.TableError.noTable }
        let rows = lines[(start + 1)..<end].map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        guard let head = rows.first, rows.count > 2 else { throw AccessTable.TableError.noTable }
        guard head.dropFirst().map({ Caller(rawValue: $0) }) == Caller.allCases.map(Optional.some) else {
            throw AccessTable.TableError.badHead(head)
        }
        cells = try rows.dropFirst(2).flatMap { row in
            guard row.count == 1 + Caller.allCases.count else { throw AccessTable.TableError.badRow(row) }
            return zip(Caller.allCases, row.dropFirst()).map { caller, word in
                Cell(endpoint: row[0].replacing("`", with: ""), caller: caller, word: word)
            }
        }
    }
}
