import JSONBytes
import SeededChance
import Testing

private func double(_ text: String) -> Double? { try? withJSON(Array(text.utf8)) { try $0.double() } }
private func int64(_ text: String) -> Int64? { try? withJSON(Array(text.utf8)) { try $0.int64() } }

private func canonical(_ text: String) -> String? {
    var output: [UInt8] = []
    let bytes = Array(text.utf8)
    let isGood = bytes.withUnsafeBufferPointer { JSONNumber($0)?.appendCanonicalDouble(to: &output) }
    return isGood == true ? String(decoding: output, as: UTF8.self) : nil
}

@Suite(.timeLimit(.minutes(20))) struct JSONNumberTests {
    @Test(arguments: [
        "0", "-0", "-0.0", "12.340000000000002", "0.1", "0.30000000000000004", "1e22", "1e23", "123456789012345678",
        "9007199254740993", "9007199254740992", "5e-324", "2.2250738585072011e-308", "1.7976931348623157e308",
        "2.4703282292062327e-324", "2.4703282292062328e-324", "1e-400", "0.000001", "3.141592653589793238462643383279",
        "100000000000000000000000", "6.02214076E23", "1E+2", "72057594037927945", "0.1e1",
    ])
    func `doubles are exact to the last bit`(text: String) {
        #expect(double(text)?.bitPattern == Double(text)?.bitPattern)
        #expect(canonical(text) == Double(text)?.description)
    }

    @Test func `random doubles come back bit for bit`() {
        var random = SplitMix64(seed: 7)
        for _ in 0..<3000 {
            let value = Double(bitPattern: random.next())
            guard value.isFinite else { continue }
            var output: [UInt8] = []
            JSONWriter.appendDouble(value, to: &output)
            let text = String(decoding: output, as: UTF8.self)
            #expect(double(text)?.bitPattern == value.bitPattern)
            #expect(canonical(text) == text)
        }
    }

    @Test func `random short decimals become the text that Swift prints`() {
        var random = SplitMix64(seed: 8)
        for _ in 0..<3000 {
            let whole = random.next() % [1, 10, 1000, 10_000_000_000][Int.random(in: 0..<4, using: &random)]
            let digits = Int.random(in: 1...9, using: &random)
            let fraction = (0..<digits).map { _ in String(random.next() % 10) }.joined()
            let sign = Bool.random(using: &random) ? "-" : ""
            let text = "\(sign)\(whole).\(fraction)"
            #expect(canonical(text) == Double(text)?.description)
            #expect(double(text)?.bitPattern == Double(text)?.bitPattern)
        }
    }

    @Test func `integers are exact or refused`() {
        #expect(int64("9223372036854775807") == .max)
        #expect(int64("-9223372036854775808") == .min)
        #expect(int64("9223372036854775808") == nil)
        #expect(int64("-9223372036854775809") == nil)
        #expect(int64("123456789012345678901234567890") == nil)
        #expect(int64("5.0") == 5)
        #expect(int64("1e3") == 1000)
        #expect(int64("-0") == 0)
        #expect(int64("5.5") == nil)
        #expect(int64("1e300") == nil)
        #expect(int64("9007199254740994.0") == nil)
        for value in [Int64.min, -1, 0, 1, 999_999_999_999_999_999, .max] {
            var output: [UInt8] = []
            JSONWriter.appendInt64(value, to: &output)
            #expect(int64(String(decoding: output, as: UTF8.self)) == value)
            #expect(String(decoding: output, as: UTF8.self) == value.description)
        }
    }

    @Test func `numbers without end are refused`() {
        #expect(double("1e400") == nil)
        #expect(double("-1e400") == nil)
        #expect(double(String(repeating: "9", count: 400)) == nil)
        #expect(double(String(repeating: "9", count: 1_000_000)) == nil)
        #expect(double("1e" + String(repeating: "9", count: 400)) == nil)
        #expect(double("1e-" + String(repeating: "9", count: 400)) == 0)
    }
}
