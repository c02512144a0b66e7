import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import Testing

/// A cloud that refuses everything that documented web services do not have (docs/web-services.md §17).
@Suite(.timeLimit(.minutes(20))) struct StrictModeTests {
    private static let strict = CloudConfiguration(port: 0, isStrictWebServices: true)
    private static let place = "1/\(TestCloud.container)/development"

    @Test(arguments: [
        "/device/\(place)/keychain/get", "/device/\(place)/devices/list", "/device/\(place)/directory/lookup",
        "/device/\(place)/tokens/delete", "/device/\(place)/sessions/delete", "/device/\(place)/accounts/password",
        "/database/\(place)/public/shares/requestAccess", "/database/\(place)/private/shares/keys/lookup",
        "/database/\(place)/private/shares/keys/store", "/database/\(place)/public/users/lookup/participants",
        "/directory/history", "/notifications", "/device/\(place)/accounts/webKeys", "/welkin/1/welkin.js",
    ])
    func `an endpoint that is not documented is not there`(path: String) async throws {
        try await TestCloud.run(Self.strict) { cloud in
            let tokens = try await cloud.signIn()
            let answer = try await cloud.client.post(path + tokens.query, "{}")
            #expect(answer.status == 404)
            #expect(answer["reason"] as? String == "could not find handler for endpoint")
        }
    }

    @Test func `a browser that asks for keys is refused`() async throws {
        try await TestCloud.run(Self.strict) { cloud in
            let tokens = try await cloud.signIn()
            let answer = try await cloud.client.post(
                TestCloud.device("sessions/create", .init(api: tokens.api)),
                #"{"email":"ada@example.com","proof":"\#(TestCloud.proofText)","wantsKeychain":true}"#)
            #expect(answer.status == 400)
            #expect(answer["reason"] as? String == "'wantsKeychain' is not part of CloudKit Web Services")
        }
    }

    @Test func `documented endpoints, pages of users and endpoints of operators stay`() async throws {
        try await TestCloud.run(Self.strict) { cloud in
            let tokens = try await cloud.signIn()
            for endpoint in ["zones/list", "subscriptions/list", "users/caller"] {
                #expect(try await cloud.client.get(TestCloud.target(endpoint, "private", tokens)).status == 200)
            }
            let token = try await cloud.client.post(
                "/device/\(Self.place)/tokens/create" + tokens.query,
                #"{"apnsEnvironment":"development","clientId":"C"}"#)
            #expect(token["webcourierURL"] is String)
            for path in ["/health", "/metrics", "/sign-in?ckAPIToken=\(tokens.api)", "/sign-in.js"] {
                #expect(try await cloud.client.get(path).status != 404)
            }
        }
    }

    @Test func `headers, keys and words of the additions are refused`() async throws {
        try await TestCloud.run(Self.strict) { cloud in
            let tokens = try await cloud.signIn()
            let list = TestCloud.target("zones/list", "private", tokens)
            for header in ["X-Welkin-Client", "X-Welkin-Operation"] {
                let answer = try await cloud.client.get(list, headers: [header: "sdk/1"])
                #expect(answer.status == 400)
                #expect((answer["reason"] as? String)?.hasSuffix("is not part of CloudKit Web Services") == true)
            }
            for (endpoint, body) in [
                (
                    "zones/modify",
                    #"{"operations":[{"operationType":"raiseKeyEpoch","zone":{"zoneID":{"zoneName":"Z"}}}]}"#
                ),
                (
                    "zones/modify",
                    #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"},"encryptionScope":"PER_ZONE"}}]}"#
                ),
                ("records/modify", #"{"operations":[{"operationType":"create","record":{"protection":{}}}]}"#),
                (
                    "records/modify",
                    #"{"zoneState":{},"operations":[{"operationType":"create","record":{"recordType":"T"}}]}"#
                ),
                ("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"},"zoneStates":{}}]}"#),
                ("users/lookup/email", #"{"users":[{"addressHash":"AAAA"}]}"#),
                (
                    "records/query",
                    #"{"query":{"recordType":"T","filterBy":[{"fieldName":"a","comparator":"WELKIN_NEVER"}]}}"#
                ),
                (
                    "subscriptions/modify",
                    #"{"operations":[{"operationType":"create","subscription":{"notificationInfo":{"title":"x"}}}]}"#
                ),
            ] {
                let answer = try await cloud.client.post(TestCloud.target(endpoint, "private", tokens), body)
                #expect(answer.status == 400)
                #expect((answer["reason"] as? String)?.hasSuffix("is not part of CloudKit Web Services") == true)
            }
            // The names of fields are the app's.
            let saved = try await cloud.client.post(
                TestCloud.target("records/modify", "private", tokens),
                #"{"operations":[{"operationType":"create","record":{"recordType":"T","fields":{"title":{"value":"protection"}}}}]}"#
            )
            #expect(saved["records", "0", "fields", "title", "value"] as? String == "protection")
            // A body that is no JSON is the endpoint's to refuse.
            let malformed = try await cloud.client.post(TestCloud.target("records/lookup", "private", tokens), "{")
            #expect((malformed["reason"] as? String)?.hasPrefix("BadRequestException") == true)
        }
    }

    @Test func `files are sent as a whole`() async throws {
        try await TestCloud.run(Self.strict) { cloud in
            let tokens = try await cloud.signIn()
            let made = try await cloud.client.post(
                TestCloud.target("assets/upload", "private", tokens),
                #"{"tokens":[{"recordType":"T","recordName":"R","fieldName":"f"}]}"#)
            let url = try #require(made["tokens", "0", "url"] as? String)
            let path = try #require(url.firstRange(of: "/assets/").map { String(url[$0.lowerBound...]) })
            let piece = try await cloud.client.send(
                "PATCH", path, body: "abc", headers: ["Upload-Offset": "0", "Upload-Length": "3"])
            #expect(piece.status == 405)
            #expect(try await cloud.client.post(path, "abc")["singleFile", "size"] as? Int == 3)
        }
    }
}
