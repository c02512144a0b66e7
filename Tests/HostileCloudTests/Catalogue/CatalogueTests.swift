import Foundation
import Testing

/// The table of attacks in docs/threat-model.md, which has to say what the tests show.
@Suite(.timeLimit(.minutes(20))) struct CatalogueTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../docs/threat-model.md").standardized
    private static let head = ["| attack | the cloud | noticed | test |", "|---|---|---|---|"]

    @Test func `the table of attacks is the catalogue`() throws {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        var lines = text.components(separatedBy: "\n")
        let start = try #require(lines.firstIndex(of: Self.head[0]), "the page has the table")
        let end = lines[start...].firstIndex { !$0.hasPrefix("|") } ?? lines.endIndex
        let table = Self.head + Attack.allCases.map(\.row)
        if ProcessInfo.processInfo.environment["WELKIN_RECORD"] == "1" {
            lines.replaceSubrange(start..<end, with: table)
            try lines.joined(separator: "\n").write(to: Self.page, atomically: true, encoding: .utf8)
        } else {
            #expect(
                Array(lines[start..<end]) == table,
                "write it with: WELKIN_RECORD=1 swift test --filter CatalogueTests")
        }
    }

    @Test func `every attack belongs to a test, and there are at least fifty`() {
        #expect(Attack.allCases.count >= 50)
        for family in Attack.Family.allCases { #expect(!Attack.of(family).isEmpty) }
    }
}
