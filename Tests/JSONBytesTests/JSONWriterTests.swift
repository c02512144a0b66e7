import JSONBytes
import SeededChance
import Testing

struct JSONWriterTests {
    @Test func `commas come by themselves`() {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("a")
            writer.array { writer in
                writer.int64(1)
                writer.string("{")
                writer.string(":")
                writer.null()
                writer.array { _ in }
                writer.object { _ in }
            }
            writer.key("b")
            writer.bool(true)
            writer.key("c\"")
            writer.double(12.340000000000002)
            writer.key("d")
            writer.raw(Array("[]".utf8))
            writer.key("e")
            writer.base64([1, 2, 3, 4])
            writer.key("f")
            writer.double(.nan)
        }
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"{"a":[1,"{",":",null,[],{}],"b":true,"c\"":12.340000000000002,"d":[],"e":"AQIDBA==","f":null}"#)
    }

    @Test func `strings escape what they must and nothing else`() {
        var output: [UInt8] = []
        JSONWriter.appendString("a\"b\\c/d\n\r\t\u{8}\u{C}\u{1}\u{1F}\u{7F}é😀", to: &output)
        #expect(
            String(decoding: output, as: UTF8.self)
                == "\"a\\\"b\\\\c/d\\n\\r\\t\\b\\f\\u0001\\u001f\u{7F}é😀\"")
    }
}

struct Base64Tests {
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
    func `what is not base64 is refused`(text: String) {
        #expect(Base64.decode(text) == nil)
        #expect(Array(text.utf8).withUnsafeBufferPointer { Base64.form(of: $0) } == .invalid)
    }

    @Test func `superfluous bits are seen`() {
        #expect(Array("Zh==".utf8).withUnsafeBufferPointer { Base64.form(of: $0) } == .valid)
        #expect(Base64.decode("Zh==") == [0x66])
    }
}
