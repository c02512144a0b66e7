import CloudKit
import Foundation

/// Unique values of every type, to be encrypted and searched for.
struct Canaries {
    let text = "canary text 8c1f4e27 über dem Wasser"
    let longText = String(repeating: "canary paragraph 55d0ab13. ", count: 40)
    // No sixteen bits of it are zero: an index of a write-ahead log has small numbers among zeros.
    let whole: Int64 = 6_834_915_270_446_831
    let fraction = 1_234_567.890_123_4
    let date = Date(timeIntervalSince1970: 1_700_000_012.345)
    let data = Data((0..<48).map { UInt8(truncatingIfNeeded: $0 &* 73 &+ 19) })
    let place = CLLocation(latitude: 48.137_154_391, longitude: 11.576_124_283)
    let texts = ["canary element one 71e9", "canary element two 0b5d"]
    let wholes: [Int64] = [6_117_208_364_925_171, 5_550_123_406_789_011]
    /// The content of a file.
    let file = Data(String(repeating: "canary file 9e3779b97f4a7c15, line after line\n", count: 6000).utf8)

    /// Values that replace the first ones, so that old versions are also searched for.
    let laterText = "canary revision 2f6a, the second thought"

    func fill(_ values: any CKRecordKeyValueSetting) {
        values["text"] = text
        values["longText"] = longText
        values["whole"] = whole
        values["fraction"] = fraction
        values["date"] = date
        values["data"] = data
        values["place"] = place
        values["texts"] = texts
        values["wholes"] = wholes
        values["fractions"] = [fraction]
        values["dates"] = [date]
        values["blobs"] = [data]
        values["places"] = [place]
    }

    var needles: [Needle] {
        [
            Needle("a text", text: text), Needle("a long text", text: "canary paragraph 55d0ab13."),
            Needle("a later text", text: laterText), Needle("a whole number", whole: whole),
            Needle("a fraction", fraction: fraction), Needle("a date in milliseconds", whole: 1_700_000_012_345),
            Needle("a date in seconds", text: "1700000012.345"), Needle("bytes", bytes: Array(data)),
            Needle("a latitude", fraction: 48.137_154_391), Needle("a longitude", fraction: 11.576_124_283),
            Needle("an element", text: texts[0]), Needle("another element", text: texts[1]),
            Needle("a listed number", whole: wholes[0]), Needle("a file's line", text: "canary file 9e3779b97f4a7c15"),
        ]
    }
}
