import Testing
import TextEncodings

@Suite(.timeLimit(.minutes(20))) struct PercentEncodingTests {
    @Test func `all but letters, digits and four signs are escaped`() {
        #expect("azAZ09.-_~".percentEncoded == "azAZ09.-_~")
        #expect("a b/?&=+%é\n".percentEncoded == "a%20b%2F%3F%26%3D%2B%25%C3%A9%0A")
        #expect("".percentEncoded.isEmpty)
    }

    @Test func `escapes are read in either case; plus stays`() {
        #expect(String(percentEncoded: "a%20b%2f%C3%a9+".utf8) == "a b/é+")
        #expect(String(percentEncoded: "plain".utf8) == "plain")
    }

    @Test(arguments: ["%", "%2", "%GG", "a%2", "%FF", "%C3"])
    func `a broken escape and bytes that are not UTF-8 are refused`(text: String) {
        #expect(String(percentEncoded: text.utf8) == nil)
    }

    @Test func `bytes that are not UTF-8 are refused without an escape, too`() {
        #expect(String(percentEncoded: [0x61, 0xFF]) == nil)
    }
}
