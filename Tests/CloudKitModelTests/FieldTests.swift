import CloudKitModel
import JSONBytes
import SeededChance
import Testing

/// A field as it would come on the wire.
private func field(_ json: String, _ tag: String? = nil) throws -> Field {
    try withJSON(Array(json.utf8)) { reader in
        try Field(name: "f", tag: try tag.map { try #require(FieldType(word: $0)) }, value: try reader.value())
    }
}

private func reason(_ json: String, _ tag: String? = nil) -> String? {
    do {
        _ = try field(json, tag)
        return nil
    } catch { return (error as? RequestFailure)?.reason }
}

extension Field {
    fileprivate var text: String { String(decoding: json, as: UTF8.self) }
}

@Suite(.timeLimit(.minutes(20))) struct FieldTypeTests {
    @Test func `words of the wire and of errors`() {
        for base in FieldType.Base.allCases where base != .unknown {
            for isList in [false, true] {
                let type = FieldType(base, isList: isList)
                #expect(FieldType(word: type.description) == type)
                #expect(String(describing: type.wireName) == type.description)
            }
        }
        #expect(FieldType(word: "ASSET") == .asset)
        #expect(FieldType(word: "ASSET_LIST") == .asset.list)
        #expect(FieldType(word: "ENCRYPTED_BYTES") == FieldType(.bytes, isEncrypted: true))
        #expect(FieldType(.string, isEncrypted: true).description == "ENCRYPTED_STRING")
        #expect(String(describing: FieldType(.string, isEncrypted: true).wireName) == "STRING")
        #expect(String(describing: FieldType(.bytes, isEncrypted: true).wireName) == "ENCRYPTED_BYTES")
        #expect(String(describing: FieldType(.unknown, isList: true).wireName) == "UNKNOWN_LIST")
        for word in ["", "LIST", "string", "UNKNOWN", "STRING_LIST_LIST", "_LIST", "ENCRYPTED_"] {
            #expect(FieldType(word: word) == nil)
        }
    }
}

@Suite(.timeLimit(.minutes(20))) struct FieldTests {
    @Test func `equal values have equal bytes`() throws {
        #expect(try field(#""\u0041\/b\n""#, "STRING").text == #""A/b\n""#)
        #expect(try field("-0", "INT64").text == "0")
        #expect(try field("5.0", "INT64").text == "5")
        #expect(try field("5", "DOUBLE").text == "5.0")
        #expect(try field("5e0", "DOUBLE").text == "5.0")
        #expect(try field("12.340000000000002", "DOUBLE").text == "12.340000000000002")
        #expect(try field(#""Zm9v\/w==""#, "BYTES").text == #""Zm9v/w==""#)
        #expect(try field(#""Zh==""#, "BYTES").text == #""Zg==""#)
        #expect(try field(" [ 1 , 2 ] ", "INT64_LIST").text == "[1,2]")
        #expect(
            try field(#"{ "longitude": 2, "x": [], "latitude": 1, "speed": null }"#, "LOCATION").text
                == #"{"latitude":1.0,"longitude":2.0}"#)
        #expect(
            try field(#"{"recordName":"R","zoneID":{"zoneName":"Z","ownerName":"_o"}}"#, "REFERENCE").text
                == #"{"recordName":"R","action":"NONE","zoneID":{"zoneName":"Z","ownerRecordName":"_o"}}"#)
    }

    @Test func `values without a tag are guessed from their shape`() throws {
        let proofLimiter: [(String, FieldType)] = [
            (#""x""#, .string), ("1", .int64), ("1.5", .double), ("1e3", .double), ("99999999999999999999", .double),
            (#"{"latitude":1,"longitude":2}"#, .location), (#"{"action":"NONE","recordName":"R"}"#, .reference),
            (#"{"fileChecksum":"x","size":1}"#, .asset), ("[1,2]", .int64.list), ("[1,2.5]", .double.list),
            ("[2.5,1]", .double.list), (#"["a"]"#, .string.list), ("[]", FieldType(.unknown, isList: true)),
        ]
        for (json, type) in proofLimiter {
            var expected = type
            expected.isGuess = true
            #expect(try field(json).type == expected)
        }
        for json in ["true", "[true]", "[[1]]", "[null]", "{}", #"{"a":1}"#, #"[1,"a"]"#, #"["a",1]"#] {
            #expect(reason(json) != nil, "\(json)")
        }
    }

    @Test func `a value that is not of its type is refused`() {
        #expect(reason("1.5", "TIMESTAMP") == "Invalid value, expected type TIMESTAMP.")
        #expect(reason(#""12""#, "TIMESTAMP") == "Invalid value, expected type TIMESTAMP.")
        let bad: [(String, String)] = [
            ("1", "STRING"), ("true", "INT64"), ("1.5", "INT64"), ("9223372036854775808", "INT64"), (#""x""#, "INT64"),
            (#""x""#, "DOUBLE"), ("1e999", "DOUBLE"), ("[]", "DOUBLE"), (#""Zg""#, "BYTES"), ("1", "BYTES"),
            ("{}", "LOCATION"), (#"{"latitude":91,"longitude":0}"#, "LOCATION"),
            (#"{"latitude":0,"longitude":-180.5}"#, "LOCATION"), (#"{"latitude":0}"#, "LOCATION"),
            (#"{"latitude":0,"longitude":0,"timestamp":1.5}"#, "LOCATION"), ("{}", "REFERENCE"),
            (#"{"recordName":""}"#, "REFERENCE"), (#"{"recordName":"R","action":"X"}"#, "REFERENCE"),
            (#""R""#, "REFERENCE"), ("1", "INT64_LIST"), (#"[1,"a"]"#, "INT64_LIST"), ("[null]", "STRING_LIST"),
            ("[1]", "UNKNOWN_LIST"), ("[[1]]", "INT64_LIST"),
        ]
        for (json, tag) in bad { #expect(reason(json, tag) != nil, "\(json) as \(tag)") }
        #expect(reason("{}", "ASSETID") == "could not decode asset object")
        #expect(reason(#"{"fileChecksum":"x","size":-1}"#, "ASSETID") == "could not decode asset object")
    }

    @Test func `numbers may come as strings`() throws {
        #expect(try field(#""12""#, "INT64").text == "12")
        #expect(try field(#""-0.5""#, "DOUBLE").text == "-0.5")
        #expect(try field(#"["1","2"]"#, "INT64_LIST").text == "[1,2]")
    }

    @Test func `B-REC-11 a value becomes the schema's type or is refused`() throws {
        let encryptedString = FieldType(.string, isEncrypted: true)
        let good: [(String, String?, FieldType, String)] = [
            ("1", nil, .double, "1.0"), ("1", "INT64", .double, "1.0"), ("1", nil, .timestamp, "1"),
            ("1.0", nil, .int64, "1"), (#""Zg==""#, nil, .bytes, #""Zg==""#), (#""x""#, nil, encryptedString, #""x""#),
            (#""12""#, nil, .int64, "12"), ("[1,2]", nil, .double.list, "[1.0,2.0]"), ("[]", nil, .string.list, "[]"),
            ("[]", "UNKNOWN_LIST", .reference.list, "[]"), (#""x""#, "STRING", .string, #""x""#),
        ]
        for (json, tag, target, expected) in good {
            let coerced = try field(json, tag).coerced(to: target)
            #expect(coerced?.text == expected && coerced?.type == target, "\(json)")
        }
        let bad: [(String, String?, FieldType)] = [
            ("1", "INT64", .timestamp), ("1.5", nil, .int64), ("1.5", nil, .timestamp), ("1", "DOUBLE", .int64),
            (#""x""#, nil, .bytes), (#""Zg==""#, "STRING", .bytes), ("1", nil, .string), ("[1]", nil, .int64),
            ("1", nil, .int64.list), (#""x""#, "STRING", encryptedString), (#""x""#, "ENCRYPTED_STRING", .string),
        ]
        for (json, tag, target) in bad { #expect(try field(json, tag).coerced(to: target) == nil, "\(json)") }
    }

    @Test func `B-ENC-03 a sealed value fits the field its device knew less of`() {
        let bytes: [UInt8] = [1, 0, 0, 0, 2] + Array(repeating: 9, count: 28)
        let number = Field(name: "n", type: .int64, sealed: bytes)
        #expect(number.sealed == bytes && number.sealedEpoch == 2)
        let double = FieldType(.double, isEncrypted: true)
        #expect(number.coerced(to: double) == Field(name: "n", type: .double, sealed: bytes))
        #expect(number.coerced(to: .int64) == nil && number.coerced(to: FieldType(.string, isEncrypted: true)) == nil)
        let none = Field(name: "n", type: FieldType(.unknown, isList: true), sealed: bytes)
        #expect(none.isEmptyList)
        #expect(none.coerced(to: double.list)?.type == double.list)
        #expect(none.coerced(to: double) == nil)
        #expect(throws: RequestFailure.self) { try number.value() }
        #expect(
            SealedForm.epoch(of: Array(bytes.dropLast())) == nil
                && Field(name: "p", type: .bytes, json: []).sealed == nil)
    }

    @Test func `values of every type come back`() throws {
        var random = SplitMix64(seed: 11)
        for base in FieldType.Base.allCases where base != .unknown {
            for _ in 0..<60 {
                let value = randomValue(base, &random)
                let single = try Field(name: "f", value: value)
                #expect(try single.value() == value)
                #expect(try field(single.text, FieldType(base).description).json == single.json)
                let list = FieldValue.list(
                    base,
                    (0..<Int.random(in: 0...3, using: &random)).map { _ in
                        randomValue(base, &random)
                    })
                let listField = try Field(name: "f", value: list)
                #expect(try listField.value() == list)
                #expect(try field(listField.text, FieldType(base, isList: true).description).json == listField.json)
            }
        }
    }

    @Test func `values that no field can hold are refused`() {
        #expect(throws: RequestFailure.self) { try FieldValue.double(.nan).json() }
        #expect(throws: RequestFailure.self) { try FieldValue.list(.double, [.double(.infinity)]).json() }
        #expect(throws: RequestFailure.self) { try FieldValue.list(.int64, [.int64(1), .double(1)]).json() }
        #expect(throws: RequestFailure.self) { try FieldValue.list(.int64, [.list(.int64, [])]).json() }
        #expect(throws: RequestFailure.self) {
            try FieldValue.location(LocationValue(latitude: .nan, longitude: 0)).json()
        }
    }

    @Test func `damaged bytes are an error, not a trap`() {
        for base in FieldType.Base.allCases {
            for json in ["", "\"", "{", "x", "[", "\"\\\"", "-", "1e999", "nul"] {
                for isList in [false, true] {
                    let field = Field(name: "f", type: FieldType(base, isList: isList), json: Array(json.utf8))
                    #expect(throws: RequestFailure.self) { try field.value() }
                }
            }
        }
    }

    @Test func `B-REF-01 references stay in their zone`() throws {
        let caller = UserID("_me")
        let zone = ZoneID(zoneName: "Z", owner: caller)
        let inside = ReferenceValue(recordName: "R", zoneID: ZoneID(zoneName: "Z"), action: .deleteSelf)
        let local = try Field(name: "f", value: .reference(inside)).withReferences(within: zone, caller: caller)
        #expect(local.text == #"{"recordName":"R","action":"DELETE_SELF"}"#)
        #expect(try local.references() == [ReferenceValue(recordName: "R", action: .deleteSelf)])
        let outside = ReferenceValue(recordName: "R", zoneID: ZoneID(zoneName: "Y"))
        let field = try Field(name: "f", value: .list(.reference, [.reference(inside), .reference(outside)]))
        #expect(throws: RequestFailure.self) { try field.withReferences(within: zone, caller: caller) }
    }
}

private func randomText(_ random: inout SplitMix64) -> String {
    let pieces = ["a", "\"", "\\", "/", "\n", "\u{0}", "é", "😀", "日本", "\u{7F}", "longer text without escapes "]
    return (0..<Int.random(in: 0...6, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
}

private func randomDouble(_ random: inout SplitMix64) -> Double {
    let value = Double(bitPattern: random.next())
    return value.isFinite ? value : 12.340000000000002
}

private func randomValue(_ base: FieldType.Base, _ random: inout SplitMix64) -> FieldValue {
    let integer = Int64(bitPattern: random.next()) >> Int64.random(in: 0...60, using: &random)
    switch base {
    case .string, .unknown: return .string(randomText(&random))
    case .int64: return .int64(integer)
    case .double: return .double(randomDouble(&random))
    case .timestamp: return .timestamp(integer)
    case .bytes:
        return .bytes(
            (0..<Int.random(in: 0...20, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
    case .location:
        return .location(
            LocationValue(
                latitude: Double.random(in: -90...90, using: &random),
                longitude: .random(in: -180...180, using: &random),
                horizontalAccuracy: Bool.random(using: &random) ? randomDouble(&random) : nil,
                altitude: Bool.random(using: &random) ? randomDouble(&random) : nil,
                timestamp: Bool.random(using: &random) ? integer : nil))
    case .reference:
        return .reference(
            ReferenceValue(
                recordName: "R" + randomText(&random),
                zoneID: Bool.random(using: &random) ? ZoneID(zoneName: "Z", owner: UserID("_o")) : nil,
                action: .deleteSelf))
    case .asset:
        return .asset(
            AssetValue(
                fileChecksum: "c" + randomText(&random), size: abs(integer / 2),
                receipt: Bool.random(using: &random) ? "r" : nil))
    }
}
