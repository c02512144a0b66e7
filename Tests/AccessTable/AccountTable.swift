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
        let table = try DocumentedTable<Caller>(from: "<!-- accounts", to: "<!-- end of accounts", columns: 1)
        cells = table.rows.flatMap { row in
            row.words.map { caller, word in
                Cell(endpoint: row.subject[0].replacing("`", with: ""), caller: caller, word: word)
            }
        }
    }
}
