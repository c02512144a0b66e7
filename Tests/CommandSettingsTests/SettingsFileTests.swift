import CommandSettings
import SeededChance
import Testing

@Suite("Files of settings", .timeLimit(.minutes(1)))
struct SettingsFileTests {
    @Test func `texts, numbers, flags and lists are read`() throws {
        let file = try SettingsFile(
            """
            # The address.
            host = "0.0.0.0"   # all of them
            port = 8_443
            public-url = 'https://cloud.example.com/#top'
            behind-proxy = true

            operator-host = [
                "a.example.com",  # first
                "b.example.com",
            ]
            empty = []
            rate = 0.5
            path = "C:\\\\x \\"y\\""
            """)
        #expect(
            file.entries.map(\.name) == [
                "host", "port", "public-url", "behind-proxy", "operator-host", "empty", "rate", "path",
            ])
        #expect(
            file.entries.map(\.value) == [
                .text("0.0.0.0"), .text("8443"), .text("https://cloud.example.com/#top"), .flag(true),
                .list(["a.example.com", "b.example.com"]), .list([]), .text("0.5"), .text(#"C:\x "y""#),
            ])
        #expect(file.entries.map(\.line) == [2, 3, 4, 5, 7, 11, 12, 13])
    }

    @Test(arguments: [
        ("host = \"a", 1, "quote that began it"), ("\nhost 0", 2, "expected `=`"), ("host = b", 1, "in quotes"),
        ("[log]\ndays = 1", 1, "tables are not used"), ("a = 1\nb = 2\na = 3", 3, "line 1 already"),
        ("a = \"\\u0041\"", 1, "escapes"), ("a = 1 2", 1, "end of the line"), ("a = [1 2]", 1, "`,` or `]`"),
        ("a = [1,\n2", 2, "`,` or `]`"), ("a =", 1, "expected a value"), ("= 3", 1, "name of a setting"),
        ("a = nan", 1, "expected a number"), ("a = [\n\n[1]]", 3, "expected a number"),
    ])
    func `a mistake is reported with its line`(text: String, line: Int, reason: String) {
        let error = #expect(throws: SettingsFileError.self) { try SettingsFile(text) }
        #expect(error?.line == line)
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    @Test func `a file that is too large is refused`() {
        #expect(throws: SettingsFileError.self) { try SettingsFile(String(repeating: "#", count: 2 << 20)) }
    }

    @Test func `no text makes the reader trap`() throws {
        var random = SplitMix64(seed: 1)
        let pieces = ["a", "=", "\"", "'", "[", "]", ",", "\n", "#", "\\", "1", "true", " ", "\u{0}", "é", "-"]
        for _ in 0..<3000 {
            let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? ""
            }
            _ = try? SettingsFile(text.joined())
        }
    }
}
