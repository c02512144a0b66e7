import Foundation

/// A table of `docs/access.md`: what a row is about in its first columns, then a result for each caller.
struct DocumentedTable<Caller: RawRepresentable & CaseIterable & Equatable & Sendable> where Caller.RawValue == String {
    /// What a row is about, and the result for each caller.
    struct Row {
        let subject: [String]
        let words: [(caller: Caller, word: String)]
    }

    let rows: [Row]

    /// Reads the table between two comments.
    ///
    /// - Parameters:
    ///   - start: How the comment before the table begins.
    ///   - end: How the comment behind it begins.
    ///   - columns: The number of columns before those of the callers.
    /// - Throws: `TableError` if the page has no such table, or a line is not a row of it.
    init(from start: String, to end: String, columns: Int) throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/access.md")
        let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").map(String.init)
        guard let start = lines.firstIndex(where: { $0.hasPrefix(start) }),
            let end = lines.firstIndex(where: { $0.hasPrefix(end) })
        else { throw TableError.noTable }
        let cells = lines[(start + 1)..<end].map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        guard let head = cells.first, cells.count > 2 else { throw TableError.noTable }
        guard head.dropFirst(columns).map({ Caller(rawValue: $0) }) == Caller.allCases.map(Optional.some) else {
            throw TableError.badHead(head)
        }
        rows = try cells.dropFirst(2).map { row in
            guard row.count == columns + Caller.allCases.count else { throw TableError.badRow(row) }
            return Row(
                subject: Array(row.prefix(columns)), words: Array(zip(Caller.allCases, row.dropFirst(columns))))
        }
    }
}

/// The reason why a table cannot be read.
enum TableError: Error {
    case noTable
    case badHead([String])
    case badRow([String])
}
