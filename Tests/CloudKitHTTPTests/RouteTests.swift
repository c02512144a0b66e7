import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer
import Foundation
import OrderedStore
import Testing

/// Paths, verbs and bodies (docs/web-services.md §1).
struct RouteTests {
    @Test(arguments: [
        "/nowhere", "/database/2/iCloud.a/development/public/records/query",
        "/database/1/iCloud.a/development/public/records/nothing", "/database/1/iCloud.a/development/public",
        "/device/1/iCloud.a/development/sessions/nothing", "//", "/database//////",
    ])
    func `an unknown path is 404`(path: String) async throws {
        try await TestCloud.run { cloud in
            let answer = try await cloud.client.post(path, "{}")
            #expect(answer.status == 404)
            #expect(answer["serverErrorCode"] as? String == "NOT_FOUND")
            #expect(answer["reason"] as? String == "could not find handler for endpoint")
        }
    }

    @Test func `unknown words in a path are bad requests`() async throws {
        try await TestCloud.run { cloud in
            for target in [
                TestCloud.target("records/query", "private", environment: "staging"),
                TestCloud.target("records/query", "secret"), TestCloud.target("records/query", container: "a%2Fb"),
                TestCloud.target("records/query", container: "%zz"), TestCloud.target("records/query", container: ""),
            ] {
                let answer = try await cloud.client.post(target, "{}")
                #expect(answer.status == 400)
                #expect(answer["serverErrorCode"] as? String == "BAD_REQUEST")
            }
        }
    }

    @Test func `a wrong verb is 405 and names the right one`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let answer = try await cloud.client.get(TestCloud.target("records/modify", "private", tokens))
            #expect(answer.status == 405)
            #expect(answer.headers["allow"] == "POST, OPTIONS")
            #expect(try await cloud.client.send("DELETE", "/health").status == 405)
        }
    }

    @Test func `lists and the caller take both verbs`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            for endpoint in ["zones/list", "users/caller", "users/current"] {
                let target = TestCloud.target(endpoint, "private", tokens)
                #expect(try await cloud.client.get(target).status == 200)
                #expect(try await cloud.client.post(target, "{}").status == 200)
                #expect(try await cloud.client.send("GET", target, body: "{}").status == 200)
            }
        }
    }

    @Test func `the caller is shown bare and in a list`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let answer = try await cloud.client.get(TestCloud.target("users/caller", "public", tokens))
            let name = try #require(answer["userRecordName"] as? String)
            #expect(name.wholeMatch(of: /_[0-9a-f]{32}/) != nil)
            #expect(answer["users", "0", "userRecordName"] as? String == name)
            #expect(answer.headers["content-type"] == "application/json; charset=UTF-8")
        }
    }

    @Test func `B-ACC-05 users who agreed are found in the public database, in new and old forms`() async throws {
        try await TestCloud.run { cloud in
            let accounts = cloud.accountStore.accounts
            _ = try await accounts.add(
                email: "ada@example.com", name: "Ada", proof: TestCloud.proof,
                derivation: accounts.newDerivation(rounds: 1))
            let tokens = try await cloud.signIn()
            let body = #"{"lookupInfos":[{"emailAddress":"ada@example.com"}]}"#
            let answer = try await cloud.client.post(TestCloud.target("users/discover", "public", tokens), body)
            #expect((answer["users"] as? [Any])?.isEmpty == true)
            try await cloud.accountStore.accounts.setDiscoverable(true, email: "ada@example.com")
            let found = try await cloud.client.post(TestCloud.target("users/discover", "public", tokens), body)
            let name = try #require(found["users", "0", "userRecordName"] as? String)
            #expect(found["users", "0", "lookupInfo", "emailAddress"] as? String == "ada@example.com")
            #expect(found["users", "0", "nameComponents", "givenName"] as? String == "Ada")
            for (endpoint, body) in [
                ("email", #"{"users":[{"emailAddress":"ada@example.com"},{"emailAddress":"no@example.com"}]}"#),
                ("id", #"{"users":[{"userRecordName":"\#(name)"},{"emailAddress":"ada@example.com"}]}"#),
            ] {
                let old = try await cloud.client.post(
                    TestCloud.target("users/lookup/\(endpoint)", "public", tokens), body)
                #expect((old["users"] as? [Any])?.count == 1)
                #expect(old["users", "0", "userRecordName"] as? String == name)
                #expect(old["users", "0", "firstName"] as? String == "Ada")
            }
            let contacts = try await cloud.client.get(TestCloud.target("users/lookup/contacts", "public", tokens))
            #expect((contacts["users"] as? [Any])?.isEmpty == true)
            let caller = try await cloud.client.get(TestCloud.target("users/current", "public", tokens))
            #expect(caller["firstName"] as? String == "Ada")
            let wrong = try await cloud.client.post(TestCloud.target("users/discover", "private", tokens), body)
            #expect(wrong.status == 400)
            #expect(wrong["reason"] as? String == "endpoint not applicable in the database type 'privatedb'")
        }
    }

    @Test func `records are saved and read with any content type and spelling of the container`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let plain = ["Content-Type": "text/plain"]
            let zone = try await cloud.client.post(
                TestCloud.target("zones/modify", "private", tokens, container: "iCloud%2Ecom.example.app"),
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#, headers: plain)
            #expect(zone["zones", "0", "zoneID", "zoneName"] as? String == "Z")
            let saved = try await cloud.client.post(
                TestCloud.target("records/modify", "private", tokens),
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordName":"R","recordType":"Note","fields":{"title":{"value":"x"}}}}]}"#,
                headers: plain)
            #expect(saved["records", "0", "recordChangeTag"] is String)
            let target = TestCloud.target("records/lookup", "private", tokens) + "&getCurrentSyncToken=true"
            let read = try await cloud.client.post(
                target, #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"R"},{"recordName":"missing"}]}"#)
            #expect(read["records", "0", "fields", "title", "value"] as? String == "x")
            #expect(read["records", "1", "serverErrorCode"] as? String == "NOT_FOUND")
            #expect(read["syncToken"] is String)
            let changes = try await cloud.client.post(
                TestCloud.target("changes/zone", "private", tokens), #"{"zones":[{"zoneID":{"zoneName":"Z"}}]}"#)
            #expect(changes["zones", "0", "records", "0", "recordName"] as? String == "R")
            let old = try await cloud.client.post(
                TestCloud.target("records/changes", "private", tokens), #"{"zoneID":{"zoneName":"Z"}}"#)
            #expect(old["records", "0", "recordName"] as? String == "R")
            let zones = try await cloud.client.post(TestCloud.target("changes/database", "private", tokens), "{}")
            #expect(zones["zones", "0", "zoneID", "zoneName"] as? String == "Z")
            let nowhere = try await cloud.client.post(
                TestCloud.target("records/changes", "private", tokens), #"{"zoneID":{"zoneName":"Nowhere"}}"#)
            #expect(nowhere.status == 404)
            #expect(nowhere["serverErrorCode"] as? String == "ZONE_NOT_FOUND")
        }
    }

    @Test func `B-CHG-18 changes are those of custom zones, by the older endpoints as well`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let standard = #"{"zoneID":{"zoneName":"_defaultZone"}}"#
            let older = try await cloud.client.post(TestCloud.target("records/changes", "private", tokens), standard)
            #expect(older.status == 400 && older["serverErrorCode"] as? String == "BAD_REQUEST")
            let newer = try await cloud.client.post(
                TestCloud.target("changes/zone", "private", tokens), #"{"zones":[\#(standard)]}"#)
            #expect(newer["zones", "0", "serverErrorCode"] as? String == "BAD_REQUEST")
            for scope in ["public", "private"] {
                let zones = try await cloud.client.post(TestCloud.target("zones/changes", scope, tokens), "{}")
                #expect((zones.status == 200) == (scope == "private"))
            }
        }
    }

    @Test(arguments: ["{", "[]", "nonsense", "\u{0}", #"{"records":5}"#])
    func `a malformed body is a bad request and the connection goes on`(body: String) async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let answers = try await cloud.client.exchange([
                RawClient.request("POST", TestCloud.target("records/lookup", "private", tokens), body: body),
                RawClient.request("GET", TestCloud.target("users/caller", "private", tokens)),
            ])
            #expect(answers.map(\.status) == [400, 200])
            #expect(answers[0]["serverErrorCode"] as? String == "BAD_REQUEST")
            #expect((answers[0]["reason"] as? String)?.hasPrefix("BadRequestException: Unexpected input") == true)
        }
    }

    @Test func `B-LIM-02 a body too large is refused and the connection goes on`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let large = String(repeating: "x", count: 3 * 1024 * 1024 + 1)
            let answers = try await cloud.client.exchange([
                RawClient.request("POST", TestCloud.target("records/modify", "private", tokens), body: large),
                RawClient.request("GET", TestCloud.target("users/caller", "private", tokens)),
            ])
            #expect(answers.map(\.status) == [400, 200])
            #expect(answers[0]["serverErrorCode"] as? String == "BAD_REQUEST")
            #expect(answers[0]["reason"] as? String == "request too large")
            let native = try await cloud.client.post(
                TestCloud.target("records/modify", "private", tokens), large, headers: ["X-Welkin-Client": "sdk/1"])
            #expect(native["nativeCode"] as? Int == 27)
        }
    }

    @Test func `a client that hangs up midway affects no other`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let target = TestCloud.target("records/modify", "private", tokens)
            let halves = RawClient.request("POST", target, body: String(repeating: "x", count: 100_000)).prefix(5000)
            for _ in 0..<20 { _ = try await cloud.client.exchange([Array(halves)], hangsUp: true) }
            #expect(try await cloud.client.get(TestCloud.target("users/caller", "private", tokens)).status == 200)
        }
    }

    @Test func `pages of other origins are let in as their token says`() async throws {
        try await TestCloud.run { cloud in
            let any = try await cloud.apiToken()
            let some = try await cloud.apiToken(origins: ["https://app.example.com"])
            let origin = ["Origin": "https://app.example.com"]
            let evil = ["Origin": "https://evil.example.com"]
            let preflight = try await cloud.client.send(
                "OPTIONS", TestCloud.target("records/query", "public", any),
                headers: origin.merging(["Access-Control-Request-Method": "POST"]) { $1 })
            #expect(preflight.status == 204)
            #expect(preflight.headers["access-control-allow-origin"] == "https://app.example.com")
            #expect(preflight.headers["access-control-allow-methods"] == "POST, OPTIONS")
            #expect(
                preflight.headers["access-control-allow-headers"]?.contains("x-apple-cloudkit-request-keyid") == true)
            let target = TestCloud.target("users/caller", "public", some)
            let good = try await cloud.client.get(target, headers: origin)
            #expect(good.status == 421)
            #expect(good.headers["access-control-allow-origin"] == "https://app.example.com")
            #expect(
                good.headers["access-control-expose-headers"]?.contains("X-Apple-CloudKit-Web-Auth-Token") == true)
            #expect(try await cloud.client.get(target, headers: evil).status == 401)
            #expect(
                try await cloud.client.get(TestCloud.target("users/caller", "public", any), headers: evil).status == 421
            )
            // The cloud's own pages sign in users of every app.
            let own = ["Origin": "http://127.0.0.1"]
            #expect(
                try await cloud.client.post(
                    TestCloud.sessions("prepare", some), #"{"email":"a@b"}"#, headers: own
                ).status == 200)
        }
    }

    @Test func `the sign-in page knows its app, and refuses others`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.apiToken(origins: ["https://a.example"], callback: "my-app://done?\"x")
            let query = "?container=\(TestCloud.container)&environment=development&ckAPIToken="
            let page = try await cloud.client.get("/sign-in" + query + tokens.api)
            #expect(page.body.contains(#"data-callback="my-app://done?&quot;x""#))
            #expect(page.body.contains(#"data-origins="https://a.example""#))
            #expect(page.headers["referrer-policy"] == "no-referrer")
            let stranger = try await cloud.client.get("/sign-in" + query + "%3Cscript%3E")
            #expect(stranger.status == 400)
            #expect(!stranger.body.contains("<script>"))
            #expect(try await cloud.client.get("/sign-in").status == 400)
            let script = try await cloud.client.get("/sign-in.js")
            #expect(script.headers["content-type"] == "text/javascript; charset=UTF-8")
            #expect(script.body.contains("ckSession"))
            #expect(try await cloud.client.get("/style.css").status == 200)
            #expect(try await cloud.client.get("/").body.contains("/database/1/"))
        }
    }
}
