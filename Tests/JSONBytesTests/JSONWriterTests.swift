import JSONBytes
import SeededChance
import Testing

@Suite(.timeLimit(.minutes(20))) struct JSONWriterTests {
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

    @Test func `strings escape only the necessary characters`() {
        var output: [UInt8] = []
        JSONWriter.appendString("a\"b\\c/d\n\r\t\u{8}\u{C}\u{1}\u{1F}\u{7F}é😀", to: &output)
        #expect(
            String(decoding: output, as: UTF8.self)
                == "\"a\\\"b\\\\c/d\\n\\r\\t\\b\\f\\u0001\\u001f\u{7F}é😀\"")
    }
}
