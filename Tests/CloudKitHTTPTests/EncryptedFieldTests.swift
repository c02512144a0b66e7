import CloudKitModel
import Foundation
import Testing

/// Encrypted fields as clients send them that hold no keys, or pretend to.
@Suite(.timeLimit(.minutes(20))) struct EncryptedFieldTests {
    private static let sealed = "AQAAAAAHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="

    /// With the form of a statement that no key opens.
    private static let protection =
        #"{"epoch":0,"statement":""# + Data([1] + Array(repeating: 0, count: 62)).base64EncodedString() + #""}"#

    private func body(_ field: String, protection: String = Self.protection) -> String {
        #"{"zoneID":{"zoneName":"_defaultZone"},"operations":[{"operationType":"create","record":{"recordType":"Note","#
            + #""fields":{"secret":\#(field)},"protection":\#(protection)}}]}"#
    }

    /// The word and reason of the item or the request.
    private func refusal(
        _ cloud: TestCloud, _ tokens: TestCloud.Tokens, _ body: String, isNative: Bool, database: String = "private"
    ) async throws -> String {
        let answer = try await cloud.client.post(
            TestCloud.target("records/modify", database, tokens), body,
            headers: isNative ? ["X-Welkin-Client": "sdk/1"] : [:])
        func text(_ key: String) -> String { (answer["records", "0", key] ?? answer[key]) as? String ?? "none" }
        return text("serverErrorCode") + " " + text("reason")
    }

    @Test(arguments: [
        #"{"value":"plain","type":"STRING","isEncrypted":true}"#, #"{"value":"AAAA","type":"ENCRYPTED_BYTES"}"#,
        #"{"value":5,"type":"INT64","isEncrypted":true}"#, #"{"value":["a"],"type":"STRING_LIST","isEncrypted":true}"#,
        #"{"value":{"latitude":1,"longitude":2},"type":"LOCATION","isEncrypted":true}"#,
        #"{"value":"AgAAAAAHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=","type":"STRING","isEncrypted":true}"#,
        #"{"value":"","type":"STRING","isEncrypted":true}"#,
    ])
    func `B-ENC-06 an unsealed value is refused as an encrypted field, from every client`(field: String) async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            for isNative in [false, true] {
                let refusal = try await refusal(cloud, tokens, body(field), isNative: isNative)
                #expect(refusal == "BAD_REQUEST Invalid value, expected sealed data in encrypted field 'secret'")
            }
        }
    }

    @Test func `B-ENC-06 sealed values are marked bytes for web clients, which may send them back`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let target = TestCloud.target("records/modify", "private", tokens)
            for type in ["STRING", "INT64", "LOCATION", "STRING_LIST", "BYTES"] {
                let name = "R-" + type
                let field = #"{"value":"\#(Self.sealed)","type":"\#(type)","isEncrypted":true}"#
                let saved = try await cloud.client.post(
                    target,
                    #"{"zoneID":{"zoneName":"_defaultZone"},"operations":[{"operationType":"create","record":{"recordName":"\#(name)","recordType":"Note","#
                        + #""fields":{"secret\#(type)":\#(field),"n":{"value":1}},"protection":\#(Self.protection)}}]}"#,
                    headers: ["X-Welkin-Client": "sdk/1"])
                let tag = try #require(saved["records", "0", "recordChangeTag"] as? String)
                let read = try await cloud.client.post(
                    TestCloud.target("records/lookup", "private", tokens), #"{"records":[{"recordName":"\#(name)"}]}"#)
                let value = read["records", "0", "fields", "secret" + type] as? [String: Any]
                #expect(value?["value"] as? String == Self.sealed)
                #expect(value?["type"] as? String == "ENCRYPTED_BYTES")
                #expect(value?["isEncrypted"] as? Bool == true)
                func update(_ field: String, tag: String) async throws -> RawClient.Answer {
                    try await cloud.client.post(
                        target,
                        #"{"operations":[{"operationType":"update","record":{"recordName":"\#(name)","recordType":"Note","recordChangeTag":"\#(tag)","#
                            + #""fields":{"secret\#(type)":\#(field),"n":{"value":2}}}}]}"#)
                }
                let echo = #"{"value":"\#(Self.sealed)","type":"ENCRYPTED_BYTES","isEncrypted":true}"#
                let kept = try await update(echo, tag: tag)
                #expect(kept["records", "0", "fields", "n", "value"] as? Int == 2)
                #expect(kept["records", "0", "fields", "secret" + type] != nil)
                let newer = try #require(kept["records", "0", "recordChangeTag"] as? String)
                let bare = try await update(#"{"value":"\#(Self.sealed)"}"#, tag: newer)
                #expect(bare["records", "0", "fields", "n", "value"] as? Int == 2)
                let other = try await update(echo.replacing("Bwc=", with: "Bwg="), tag: newer)
                #expect((other["records", "0", "serverErrorCode"] ?? other["serverErrorCode"]) != nil)
            }
        }
    }

    @Test func `B-ENC-06 protection is nothing that web services speak of`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let good = body(#"{"value":"\#(Self.sealed)","type":"STRING","isEncrypted":true}"#)
            #expect(
                try await refusal(cloud, tokens, good, isNative: false)
                    == "BAD_REQUEST encrypted fields came without the record's protection")
            #expect(try await refusal(cloud, tokens, good, isNative: true) == "none none")
            #expect(
                try await refusal(cloud, tokens, good, isNative: true, database: "public")
                    == "BAD_REQUEST encrypted fields are not supported in the public database")
            let list = #"{"zones":[{"zoneName":"_defaultZone"}]}"#
            let target = TestCloud.target("zones/lookup", "private", tokens)
            for (headers, isTold) in [([:], false), (["X-Welkin-Client": "sdk/1"], true)] {
                let zones = try await cloud.client.post(target, list, headers: headers)
                #expect((zones["zones", "0", "keyEpoch"] != nil) == isTold)
            }
        }
    }
}
