import SeededChance
import Testing
import TextEncodings

@Suite(.timeLimit(.minutes(20))) struct Base64Tests {
    @Test func `the examples of RFC 4648`() {
        let examples = [
            "": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==", "fooba": "Zm9vYmE=",
            "foobar": "Zm9vYmFy",
        ]
        for (plain, encoded) in examples {
            #expect(Base64.encode(Array(plain.utf8)) == encoded)
            #expect(Base64.decode(encoded) == Array(plain.utf8))
        }
    }

    @Test func `random bytes come back`() {
        var random = SplitMix64(seed: 3)
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            let text = Base64.encode(bytes)
            #expect(Base64.decode(text) == bytes)
            #expect(Array(text.utf8).withUnsafeBufferPointer { Base64.form(of: $0) } == .canonical)
        }
    }

    @Test(arguments: [
        "A", "AA", "AAA", "A===", "====", "AA=A", "=AAA", "AA-_", "AA A", "AAAA=", "AAAA\n", "ÄAA", "=", "==",
    ])
    func `invalid base64 is refused`(text: String) {
        #expect(Base64.decode(text) == nil)
        #expect(Array(text.utf8).withUnsafeBufferPointer { Base64.form(of: $0) } == .invalid)
    }

    @Test func `superfluous bits are seen`() {
        #expect(Array("Zh==".utf8).withUnsafeBufferPointer { Base64.form(of: $0) } == .valid)
        #expect(Base64.decode("Zh==") == [0x66])
    }
}

@Suite(.timeLimit(.minutes(20))) struct Base64URLTests {
    @Test func `every form of a text decodes`() {
        let bytes: [UInt8] = [0xFB, 0xFF, 0xFE, 0x01]
        #expect(Base64URL.encode(bytes) == "-__-AQ")
        for text in ["-__-AQ", "-__-AQ==", "+//+AQ==", "+//+AQ", "-_/+AQ=", "-__-AR"] {
            #expect(Base64URL.decode(text) == bytes)
        }
        for text in ["-__-A!", "-__-\u{C4}Q", " -__-AQ", "%"] { #expect(Base64URL.decode(text) == nil) }
        // A symbol alone does not encode a byte.
        #expect(Base64URL.decode("A") == [])
        #expect(Base64URL.decode("") == [])
    }

    @Test func `random bytes come back`() {
        var random = SplitMix64(seed: 4)
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            let text = Base64URL.encode(bytes)
            #expect(Base64URL.decode(text) == bytes)
        }
    }
}
