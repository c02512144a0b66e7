import JSONBytes
import Testing

private func read<T>(_ text: String, _ body: (inout JSONReader) throws -> T) throws -> T {
    try withJSON(Array(text.utf8), body)
}

private func error(_ bytes: [UInt8]) -> JSONError? {
    do {
        try withJSON(bytes) { try $0.skipValue() }
        return nil
    } catch { return error as? JSONError }
}

private func error(_ text: String) -> JSONError? { error(Array(text.utf8)) }

@Suite(.timeLimit(.minutes(20))) struct JSONReaderTests {
    @Test func `an object is read key by key`() throws {
        let text = #" { "name" : "x" , "skip": [1, {"a": null}], "n": -12 , "yes":true,"d":1.5e3 , "no": false} "#
        var (name, number, yes, double, no) = ("", Int64(0), false, 0.0, true)
        try read(text) { reader in
            try reader.object { reader, key in
                switch key {
                case "name": name = try reader.string()
                case "n": number = try reader.int64()
                case "yes": yes = try reader.bool()
                case "no": no = try reader.bool()
                case "d": double = try reader.double()
                default: try reader.skipValue()
                }
            }
        }
        #expect(name == "x" && number == -12 && yes && !no && double == 1500)
    }

    @Test func `empty objects and arrays nest`() throws {
        let count = try read("[[],{},[[]],{\"a\":{}}]") { reader in
            var count = 0
            try reader.array {
                try $0.skipValue()
                count += 1
            }
            return count
        }
        #expect(count == 4)
    }

    @Test(arguments: [
        "", " ", "{", "[", "{]", "[}", "[1,]", "{\"a\":1,}", "{,}", "[,]", "[1 2]", "{\"a\" 1}", "{\"a\":}", "{a:1}",
        "nul", "tru", "falsy", "01", "-", "1.", ".5", "1e", "1e+", "+1", "0x1", "NaN", "Infinity", "'a'", "\"", "\"\\",
        "\"\\x\"", "\"\\u12\"", "\"\\u12G4\"", "\"a\nb\"", "\"\u{1}\"", "1 2", "{}x", "[1],", "\u{FEFF}1",
    ])
    func `invalid JSON is refused`(text: String) {
        #expect(error(text) != nil)
    }

    @Test(arguments: ["\\ud800", "\\udc00", "\\ud800x", "\\ud800\\n", "\\ud800\\ud800", "\\udbff\\u0041", "\\ud83d\\u"])
    func `half a surrogate pair is refused`(escape: String) {
        #expect(error("\"\(escape)\"")?.reason == .invalidEscape)
    }

    @Test(
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xC3], [0xE2, 0x82], [0xF0, 0x9F, 0x98], [0xFF],
        ] as [[UInt8]])
    func `bytes that are not UTF-8 are refused`(bytes: [UInt8]) {
        for prefix in ["\"", "\"1234567", "\"12345678901234567"] {
            let found = error(Array(prefix.utf8) + bytes + [0x22])
            #expect(found == JSONError(.invalidUTF8, offset: prefix.utf8.count))
        }
    }

    @Test func `every scalar comes through, raw and escaped`() throws {
        for value in stride(from: UInt32(0), through: 0x10FFFF, by: 37) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = "a\(Character(scalar))b"
            var json: [UInt8] = []
            JSONWriter.appendString(text, to: &json)
            #expect(try withJSON(json) { try $0.string() } == text)
            let escapes = text.utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
            #expect(try read("\"\(escapes.joined())\"") { try $0.string() } == text)
        }
    }

    @Test func `keys compare without escapes and with them`() throws {
        for text in [#"{"zoneName":1}"#, #"{"z\u006fneName":1}"#, #"{"\u007aone\u004eame":1}"#] {
            let isKey = try read(text) { reader in
                try reader.beginObject()
                let key = try #require(try reader.nextKey())
                let result =
                    key == "zoneName" && !(key == "zoneNam") && !(key == "zoneNamf") && key.string == "zoneName"
                try reader.skipValue()
                _ = try reader.nextKey()
                return result
            }
            #expect(isKey)
        }
    }

    @Test func `depth is bounded`() {
        for depth in [63, 64] {
            #expect(error(String(repeating: "[", count: depth) + String(repeating: "]", count: depth)) == nil)
        }
        #expect(error(String(repeating: "[", count: 65) + String(repeating: "]", count: 65))?.reason == .tooDeep)
        #expect(error(String(repeating: "{\"a\":", count: 100_000))?.reason == .tooDeep)
        #expect(error(String(repeating: "[", count: 1_000_000)) == JSONError(.tooDeep, offset: 64))
    }

    @Test func `an error knows its place`() {
        let document = Array("{\n  \"a\": 1,\n  \"b\": x\n}".utf8)
        let found = error(document)
        #expect(found?.reason == .unexpectedByte)
        #expect(found.map { $0.position(in: document) == (line: 3, column: 8) } == true)
    }

    @Test func `an unconsumed value is an error, not a wrong reading`() {
        #expect(throws: JSONError.self) {
            try read(#"{"a": 1, "b": 2}"#) { reader in
                try reader.beginObject()
                while try reader.nextKey() != nil {}
            }
        }
    }

    @Test func `a raw value has no whitespace but in its strings`() throws {
        let raw = try read(" { \"a b\" : [ 1 , \"x \\\" y\" ,\n\t{ } ] } ") { try $0.rawValue() }
        #expect(String(decoding: raw, as: UTF8.self) == #"{"a b":[1,"x \" y",{}]}"#)
    }

    @Test func `a value can be read again later`() throws {
        let sum = try read(#"{"value": [1, 2, 3], "type": "INT64_LIST"}"#) { reader in
            var value: JSONValue?
            try reader.object { reader, key in
                if key == "value" { value = try reader.value() } else { try reader.skipValue() }
            }
            var sum: Int64 = 0
            var again = try #require(value).reader
            try again.array { sum += try $0.int64() }
            return sum
        }
        #expect(sum == 6)
    }
}
