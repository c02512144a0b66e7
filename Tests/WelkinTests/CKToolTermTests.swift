import Foundation
import Testing

@testable import cktool

/// The filters, sorts and times of `cktool`, without a cloud.
@Suite(.timeLimit(.minutes(20))) struct CKToolTermTests {
    /// Two hours before UTC.
    private static let zone = TimeZone(secondsFromGMT: -7200) ?? .gmt

    private func filter(_ text: String) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(try FilterTerm(text, in: Self.zone).wire), as: UTF8.self)
    }

    @Test(arguments: [
        ("a == 3", #"{"comparator":"EQUALS","fieldName":"a","fieldValue":{"value":3}}"#),
        ("a > 4.60", #"{"comparator":"GREATER_THAN","fieldName":"a","fieldValue":{"type":"DOUBLE","value":4.6}}"#),
        (
            "a EQUALS two words",
            #"{"comparator":"EQUALS","fieldName":"a","fieldValue":{"type":"STRING","value":"two words"}}"#
        ),
        (#"a != """#, #"{"comparator":"NOT_EQUALS","fieldName":"a","fieldValue":{"type":"STRING","value":""}}"#),
        (
            "a < 2021-01-01",
            #"{"comparator":"LESS_THAN","fieldName":"a","fieldValue":{"type":"TIMESTAMP","value":1609466400000}}"#
        ),
        (
            "a <= stringType:2021-01-01",
            #"{"comparator":"LESS_THAN_OR_EQUALS","fieldName":"a","fieldValue":{"type":"STRING","value":"2021-01-01"}}"#
        ),
        (
            "a NEAR 40.5,-74.25,1000",
            #"{"comparator":"NEAR","distance":1000,"fieldName":"a","fieldValue":"#
                + #"{"type":"LOCATION","value":{"latitude":40.5,"longitude":-74.25}}}"#
        ),
        (
            "a IN int64Type:1,2",
            #"{"comparator":"IN","fieldName":"a","fieldValue":{"type":"INT64_LIST","value":[1,2]}}"#
        ),
        (
            "a LIST_NOT_CONTAINS_ANY x,y",
            #"{"comparator":"NOT_LIST_CONTAINS_ANY","fieldName":"a","fieldValue":{"type":"STRING_LIST","value":["x","y"]}}"#
        ),
        (
            "___recordID == referenceType:abc",
            #"{"comparator":"EQUALS","fieldValue":{"type":"REFERENCE","value":{"recordName":"abc"}},"#
                + #""systemFieldName":"___recordID"}"#
        ),
    ])
    func `a filter is a field, an operator and a value whose type is guessed or written`(
        text: String, wire: String
    ) throws {
        #expect(try filter(text) == wire)
    }

    @Test(arguments: ["", "a", "a b c", "a NEAR here", "a == int64Type:x", "a == assetType:x", "a IN int64Type:1,x"])
    func `what is no filter is refused`(text: String) {
        #expect(throws: (any Error).self) { try FilterTerm(text) }
    }

    @Test func `times are read in three forms and printed in one`() {
        for (text, time) in [
            ("1970-01-01T00:00:01Z", 1000), ("1970-01-01T00:00:01.250Z", 1250), ("1970-01-01", 7_200_000),
            ("1970-01-01 01:30", 12_600_000), ("1970-01-01T02:00:00+02:00", 0),
        ] as [(String, Int64)] {
            #expect(TimestampText.milliseconds(text, in: Self.zone) == time, "\(text)")
        }
        for text in ["", "soon", "1970-13-01", "1970-02-30", "70-01-01"] {
            #expect(TimestampText.milliseconds(text, in: Self.zone) == nil, "\(text)")
        }
        #expect(TimestampText.text(1000) == "1970-01-01T00:00:01Z")
        #expect(TimestampText.text(1250) == "1970-01-01T00:00:01.250Z")
    }

    @Test func `sorts have a direction`() throws {
        for (text, isAscending) in [("a", true), ("a ASC", true), ("a desc", false)] {
            let wire: JSONTree = .object(["fieldName": "a", "ascending": .flag(isAscending)])
            #expect(try SortTerm(text).wire == wire)
        }
        for text in ["", "a UP", "a ASC b"] { #expect(throws: (any Error).self) { try SortTerm(text) } }
    }
}
