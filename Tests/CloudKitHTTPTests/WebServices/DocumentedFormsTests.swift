import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import Foundation
import Testing

/// Forms of requests that documents of web services show and clients send (docs/web-services.md).
@Suite(.timeLimit(.minutes(20))) struct DocumentedFormsTests {
    @Test(arguments: [("https", "https"), ("http, HTTPS", "https"), ("https, http", "http"), ("gopher", "http")])
    func `behind a proxy URLs have the scheme that the proxy says`(header: String, scheme: String) async throws {
        for (isBehindProxy, expected) in [(true, scheme), (false, "http")] {
            try await TestCloud.run(CloudConfiguration(port: 0, isBehindProxy: isBehindProxy)) { cloud in
                let tokens = try await cloud.apiToken()
                let answer = try await cloud.client.get(
                    TestCloud.target("users/caller", "public", tokens), headers: ["X-Forwarded-Proto": header])
                let url = try #require(answer["redirectURL"] as? String)
                #expect(url.hasPrefix(expected + "://127.0.0.1/sign-in?"))
            }
        }
    }

    @Test func `zones are looked up by users alone`() async throws {
        try await TestCloud.run { cloud in
            let body = #"{"zones":[{"zoneName":"_defaultZone"}]}"#
            let stranger = try await cloud.apiToken()
            let user = try await cloud.signIn()
            for scope in ["public", "private", "shared"] {
                let refused = try await cloud.client.post(TestCloud.target("zones/lookup", scope, stranger), body)
                #expect(refused.status == 421)
                #expect(refused["serverErrorCode"] as? String == "AUTHENTICATION_REQUIRED")
                #expect(try await cloud.client.post(TestCloud.target("zones/lookup", scope, user), body).status == 200)
            }
        }
    }

    @Test func `push tokens are made below each path that documents give`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let place = "1/\(TestCloud.container)/development"
            for path in [
                "/device/\(place)", "/database/\(place)", "/database/\(place)/public", "/database/\(place)/private",
            ] {
                let made = try await cloud.client.post(
                    path + "/tokens/create" + tokens.query, #"{"apnsEnvironment":"development","clientId":"C"}"#)
                #expect(made["webcourierURL"] is String)
                let token = try #require(made["apnsToken"] as? String)
                let kept = try await cloud.client.post(
                    path + "/tokens/register" + tokens.query,
                    #"{"apnsEnvironment":"development","apnsToken":"\#(token)","clientId":"C"}"#)
                #expect(kept["apnsToken"] as? String == token)
            }
            let nowhere = try await cloud.client.post("/database/\(place)/tokens/delete" + tokens.query, "{}")
            #expect(nowhere.status == 404)
        }
    }

    @Test func `subscriptions are looked up without a database as well`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            for (scope, id) in [("private", "P"), ("shared", "S")] {
                let made = try await cloud.client.post(
                    TestCloud.target("subscriptions/modify", scope, tokens),
                    #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"\#(id)","subscriptionType":"database"}}]}"#
                )
                #expect(made["subscriptions", "0", "subscriptionID"] as? String == id)
            }
            let path = "/database/1/\(TestCloud.container)/development/subscriptions/lookup"
            let body = #"{"subscriptions":[{"subscriptionID":"P"},{"subscriptionID":"S"},{"subscriptionID":"N"}]}"#
            let found = try await cloud.client.post(path + tokens.query, body)
            #expect(found["subscriptions", "0", "subscriptionType"] as? String == "database")
            #expect(found["subscriptions", "1", "subscriptionType"] as? String == "database")
            #expect(found["subscriptions", "2", "serverErrorCode"] as? String == "NOT_FOUND")
            #expect(try await cloud.client.post(path + cloud.apiToken().query, body).status == 421)
        }
    }

    @Test func `B-QRY-18 a continuation marker continues its query without it`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            _ = try await cloud.client.post(
                TestCloud.target("zones/modify", "private", tokens),
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#)
            let operations = (1...3).map {
                #"{"operationType":"create","record":{"recordName":"R\#($0)","recordType":"Note","fields":{"n":{"value":\#($0)},"t":{"value":"x"}}}}"#
            }
            _ = try await cloud.client.post(
                TestCloud.target("records/modify", "private", tokens),
                #"{"zoneID":{"zoneName":"Z"},"operations":[\#(operations.joined(separator: ","))]}"#)
            let target = TestCloud.target("records/query", "private", tokens)
            let query =
                #""zoneID":{"zoneName":"Z"},"resultsLimit":1,"desiredKeys":["n"],"query":{"recordType":"Note","filterBy":[{"fieldName":"n","comparator":"GREATER_THAN","fieldValue":{"value":0}}],"sortBy":[{"fieldName":"n","ascending":false}]}"#
            let first = try await cloud.client.post(target, "{\(query)}")
            #expect(first["records", "0", "recordName"] as? String == "R3")
            let marker = try #require(first["continuationMarker"] as? String)
            #expect(Data(base64Encoded: marker) != nil)
            let alone = try await cloud.client.post(target, #"{"continuationMarker":"\#(marker)"}"#)
            #expect(alone["records", "0", "recordName"] as? String == "R2")
            #expect((alone["records"] as? [Any])?.count == 1)
            #expect((alone["records", "0", "fields"] as? [String: Any])?.keys.sorted() == ["n"])
            let repeated = try await cloud.client.post(target, #"{"continuationMarker":"\#(marker)",\#(query)}"#)
            #expect(repeated["records", "0", "recordName"] as? String == "R2")
            let next = try #require(alone["continuationMarker"] as? String)
            let last = try await cloud.client.post(
                target, #"{"continuationMarker":"\#(next)","resultsLimit":5,"desiredKeys":[]}"#)
            #expect(last["records", "0", "recordName"] as? String == "R1")
            #expect((last["records", "0", "fields"] as? [String: Any])?.isEmpty == true)
            // The marker belongs to its caller and its query.
            let other = query.replacing(#""n","ascending""#, with: #""t","ascending""#)
            #expect(
                try await cloud.client.post(target, #"{"continuationMarker":"\#(marker)",\#(other)}"#).status == 400)
            let grace = try await cloud.signIn(email: "grace@example.com")
            let stolen = try await cloud.client.post(
                TestCloud.target("records/query", "private", grace), #"{"continuationMarker":"\#(marker)"}"#)
            #expect(stolen.status != 200)
            #expect(try await cloud.client.post(target, #"{"continuationMarker":"AAAA"}"#).status == 400)
        }
    }
}
