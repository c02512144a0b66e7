import Testing

@testable import Console

/// Parts of pages and addresses.
@Suite(.timeLimit(.minutes(5))) struct HTMLTests {
    static let hostile = [
        "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onfocus='alert(1)", "&lt;b&gt;",
        "</textarea><b>",
        "\u{0}\u{8}\u{1B}", "\u{202E}gnp.exe",
    ]

    @Test(arguments: hostile) func `texts and attributes are escaped`(_ text: String) {
        let html = Tag.p(.title(text), .value(text)) {
            text
            Tag.textarea(text: text)
        }
        let inner = html.markup.replacing("<p ", with: "").replacing("</p>", with: "")
            .replacing("<textarea>", with: "").replacing("</textarea>", with: "")
        #expect(inner.filter { $0 == "<" }.isEmpty)
        #expect(inner.filter { $0 == "\"" }.count == 4)
        #expect(!inner.contains("'"))
        #expect(!inner.unicodeScalars.contains { $0.value < 32 })
    }

    @Test(arguments: hostile) func `addresses are percent-encoded`(_ text: String) {
        let address = Address("zones", text, query: ["name": text, "none": nil])
        #expect(address.text.hasPrefix("/console/zones/"))
        #expect(address.text.utf8.allSatisfy { (0x21..<0x7F).contains($0) && !Array("<>\"'&".utf8).contains($0) })
    }

    @Test(arguments: [
        ("/console", true), ("/console/containers?after=x", true), ("//evil.example", false),
        ("https://evil.example/console", false), ("/console/../admin", false), ("/consolex", false),
        ("/console//evil.example", false), ("/console/\\evil", false), ("javascript:alert(1)", false),
        ("/console/a b", false), ("/console\"x", false),
    ])
    func `only addresses of the Console are come back to`(_ text: String, _ isOwn: Bool) {
        #expect((Address(requested: text) != nil) == isOwn)
    }

    @Test(arguments: [
        (0, "1970-01-01 00:00:00"), (951_782_400_000, "2000-02-29 00:00:00"),
        (1_795_403_145_678, "2026-11-23 03:05:45"),
        (-1, "1969-12-31 23:59:59"), (4_107_542_400_000, "2100-03-01 00:00:00"),
    ])
    func `moments are written in UTC`(_ milliseconds: Int64, _ text: String) {
        #expect(TimeText.text(milliseconds) == text)
    }

    @Test(arguments: [
        (0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (1234, "1.23 kB"), (999_499, "999 kB"), (999_500, "1 MB"),
        (12_345_678, "12.3 MB"), (5_000_000_000, "5 GB"),
    ])
    func `sizes have three digits`(_ count: Int64, _ text: String) {
        #expect(ByteCountText.text(count) == text)
    }

    @Test func `paths give their parameters and are made of them`() throws {
        let path = PagePath("containers/{container}/{environment}/zones")
        #expect(path.hasContainer)
        let found = try #require(path.match("/containers/iCloud.a%2Eb/production/zones"))
        #expect(found == ["container": "iCloud.a.b", "environment": "production"])
        #expect(path.match("/containers/iCloud.a/production") == nil)
        #expect(path.match("/containers/%FF/production/zones") == nil)
        #expect(path.address(found)?.text == "/console/containers/iCloud.a.b/production/zones")
        #expect(path.address([:]) == nil)
    }

    @Test func `forms are read with their spaces, line breaks and lists`() {
        let form = FormFields("a=1+2&b=%0D%0Ax&c=&d&a=3&%FF=1&e=%FF".utf8)
        #expect(form["a"] == "1 2")
        #expect(form.all("a") == ["1 2", "3"])
        #expect(form["b"] == "\nx")
        #expect(form["c"] == nil)
        #expect(form.exact("c") == "")
        #expect(form.has("d"))
        #expect(form.names == ["a", "b", "c", "d"])
    }
}
