import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer
import Testing

/// The operator's endpoints, from outside.
@Suite(.timeLimit(.minutes(20))) struct AdminTests {
    private static func target(_ action: String, environment: String = "development") -> String {
        "/admin/1/\(TestCloud.container)/\(environment)/\(action)"
    }

    private func bearer(_ token: String) -> [String: String] { ["Authorization": "Bearer " + token] }

    private func make(_ cloud: TestCloud) async throws -> (headers: [String: String], row: OperatorToken) {
        let (token, row) = try await cloud.accountStore.operatorTokens
            .create(name: "tests")
        return (bearer(token), row)
    }

    @Test func `without a token in use there is no admin API, also when the last one is revoked`() async throws {
        try await TestCloud.run { cloud in
            let missing = try await cloud.client.post(Self.target("faults/list"), "{}", headers: bearer("x"))
            #expect(missing.status == 404)
            #expect(missing["reason"] as? String == "could not find handler for endpoint")
            let (headers, row) = try await make(cloud)
            #expect(try await cloud.client.get(Self.target("faults/list"), headers: headers).status == 200)
            _ = try await cloud.accountStore.operatorTokens.revoke(row.id)
            #expect(try await cloud.client.get(Self.target("faults/list"), headers: headers).status == 404)
        }
    }

    @Test func `wrong credentials are refused with the usual error body at every endpoint`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let (good, _) = try await make(cloud)
            let wrong = String(repeating: "0", count: 64)
            let attempts: [[String: String]] = [
                [:], bearer(wrong), bearer(tokens.api), bearer(""), ["Authorization": good["Authorization"]! + "0"],
                ["Authorization": "Basic " + wrong], ["Authorization": "Bearer"], ["X-Operator": wrong],
            ]
            for headers in attempts {
                for body in [#"{"kind":"throttle"}"#, "nonsense"] {
                    let answer = try await cloud.client.post(Self.target("faults/order"), body, headers: headers)
                    #expect(answer.status == 401)
                    #expect(answer["serverErrorCode"] as? String == "AUTHENTICATION_FAILED")
                    #expect(answer.headers["www-authenticate"] == "Bearer")
                    #expect(answer["uuid"] as? String != nil)
                }
            }
            // In the query string a token would end up in logs of proxies.
            let token = good["Authorization"]!.dropFirst("Bearer ".count)
            #expect(try await cloud.client.get(Self.target("faults/list") + "?token=\(token)").status == 401)
            let listed = try await cloud.client.get(Self.target("faults/list"), headers: good)
            #expect((listed["faults"] as? [Any])?.isEmpty == true)
        }
    }

    @Test func `production is refused`() async throws {
        try await TestCloud.run { cloud in
            let (headers, _) = try await make(cloud)
            for action in ["faults/list", "faults/order", "zones/purge", "keys/reset", "devices/revoke"] {
                let answer = try await cloud.client.post(
                    Self.target(action, environment: "production"), #"{"email":"ada@example.com","zone":"Z"}"#,
                    headers: headers)
                #expect(answer.status == 403)
                #expect(answer["serverErrorCode"] as? String == "ACCESS_DENIED")
            }
        }
    }

    @Test(arguments: [
        ("faults/order", "", "no JSON object"), ("faults/order", "[]", "no JSON object"),
        ("faults/order", "{", "no JSON object"), ("faults/order", "{}", "kind"),
        ("faults/order", #"{"kind":"plague"}"#, "kind"), ("faults/order", #"{"kind":7}"#, "\"kind\""),
        ("faults/order", #"{"kind":"throttle","second":5}"#, "\"second\""),
        ("faults/order", #"{"kind":"throttle","seconds":-1}"#, "seconds"),
        ("faults/order", #"{"kind":"throttle","seconds":1e300}"#, "seconds"),
        ("faults/order", #"{"kind":"throttle","seconds":"5"}"#, "\"seconds\""),
        ("faults/order", #"{"kind":"throttle","bytes":5}"#, "bytes"),
        ("faults/order", #"{"kind":"quota"}"#, "bytes"), ("faults/order", #"{"kind":"quota","bytes":-1}"#, "bytes"),
        ("faults/order", #"{"kind":"throttle","email":"a@b.cd","userRecordName":"_x"}"#, "exclude"),
        ("faults/remove", "{}", "id or all"), ("faults/remove", #"{"id":"a","all":true}"#, "id or all"),
        ("faults/remove", #"{"all":false}"#, "id or all"), ("faults/remove", #"{"email":"a@b.cd"}"#, "\"email\""),
        ("tokens/expire", "{}", "email or userRecordName is required"),
        ("zones/compact", #"{"email":"ada@example.com"}"#, "\"zone\""),
        ("zones/purge", #"{"email":"ada@example.com","zone":""}"#, "\"zone\""),
        ("zones/purge", #"{"email":"ada@example.com","zone":"_defaultZone"}"#, "default zone"),
        ("keys/reset", #"{"email":"ada@example.com","zone":"Z","account":true}"#, "exclude"),
        ("devices/revoke", #"{"email":"ada@example.com"}"#, "\"device\""),
    ])
    func `an invalid fault order is reported, and nothing is done`(
        _ action: String, _ body: String, _ reason: String
    ) async throws {
        try await TestCloud.run { cloud in
            _ = try await cloud.signIn()
            let (headers, _) = try await make(cloud)
            let answer = try await cloud.client.post(Self.target(action), body, headers: headers)
            #expect(answer.status == 400 || answer.status == 404)
            #expect((answer["reason"] as? String ?? "").contains(reason), "\(answer.body)")
            let listed = try await cloud.client.get(Self.target("faults/list"), headers: headers)
            #expect((listed["faults"] as? [Any])?.isEmpty == true)
        }
    }

    @Test func `unknown users, zones and endpoints are 404, long bodies 400, wrong verbs 405`() async throws {
        try await TestCloud.run { cloud in
            _ = try await cloud.signIn()
            let (headers, _) = try await make(cloud)
            let missing = [
                ("zones/purge", #"{"email":"nobody@example.com","zone":"Z"}"#),
                ("zones/purge", #"{"userRecordName":"_nobody","zone":"Z"}"#),
                ("zones/purge", #"{"email":"ada@example.com","zone":"Z"}"#),
                ("zones/compact", #"{"email":"ada@example.com","zone":"Z"}"#),
                ("tokens/expire", #"{"email":"ada@example.com","zone":"Z"}"#),
                ("keys/reset", #"{"email":"ada@example.com","zone":"Z"}"#),
                ("devices/revoke", #"{"email":"ada@example.com","device":"zz"}"#), ("faults/remove", #"{"id":"0"}"#),
                ("faults/nothing", "{}"), ("faults", "{}"),
            ]
            for (action, body) in missing {
                let answer = try await cloud.client.post(Self.target(action), body, headers: headers)
                #expect(answer.status == 404, "\(action) \(body): \(answer.body)")
            }
            let long = #"{"kind":""# + String(repeating: "x", count: 20_000) + #""}"#
            let refused = try await cloud.client.post(Self.target("faults/order"), long, headers: headers)
            #expect(refused.status == 400 && refused["reason"] as? String == "request too large")
            let verb = try await cloud.client.get(Self.target("faults/order"), headers: headers)
            #expect(verb.status == 405 && verb.headers["allow"] == "POST, OPTIONS")
        }
    }

    @Test func `B-THR-02 requests are throttled with and without a time, by user or altogether`() async throws {
        try await TestCloud.run { cloud in
            let ada = try await cloud.signIn()
            let bob = try await cloud.signIn(email: "bob@example.com")
            let (headers, _) = try await make(cloud)
            let list = TestCloud.target("zones/list", "private", ada)
            let ordered = try await cloud.client.post(
                Self.target("faults/order"), #"{"kind":"throttle","email":"ada@example.com","seconds":20}"#,
                headers: headers)
            let id = try #require(ordered["fault", "id"] as? String)
            let refused = try await cloud.client.get(list)
            #expect(refused.status == 429)
            #expect(refused.headers["retry-after"] == "20")
            #expect(refused["retryAfter"] as? Double == 20)
            #expect(try await cloud.client.get(TestCloud.target("zones/list", "private", bob)).status == 200)
            _ = try await cloud.client.post(Self.target("faults/remove"), #"{"id":"\#(id)"}"#, headers: headers)
            #expect(try await cloud.client.get(list).status == 200)

            _ = try await cloud.client.post(
                Self.target("faults/order"), #"{"kind":"unavailable","retryAfter":false}"#, headers: headers)
            let silent = try await cloud.client.get(list)
            #expect(silent.status == 503)
            #expect(silent.headers["retry-after"] == nil && silent["retryAfter"] == nil)
            let listed = try await cloud.client.get(Self.target("faults/list"), headers: headers)
            #expect((listed["faults"] as? [Any])?.count == 1)
            let all = try await cloud.client.post(Self.target("faults/remove"), #"{"all":true}"#, headers: headers)
            #expect(all["removed"] as? Int == 1)
            #expect(try await cloud.client.get(list).status == 200)
        }
    }

    @Test func `a device signed out and a keychain taken away are known at once`() async throws {
        // Caches the store's answers for a minute: only an explicit reset makes changes immediate.
        try await TestCloud.run(cacheLifetime: 60_000) { cloud in
            let tokens = try await cloud.signIn()
            let (headers, _) = try await make(cloud)
            let list = TestCloud.target("zones/list", "private", tokens)
            #expect(try await cloud.client.get(list).status == 200)
            let devices = try await cloud.client.post(
                Self.target("devices/list"), #"{"email":"ada@example.com"}"#, headers: headers)
            let id = try #require(devices["devices", "0", "deviceID"] as? String)
            let signedOut = try await cloud.client.post(
                Self.target("devices/revoke"), #"{"email":"ada@example.com","device":"\#(id.prefix(8))"}"#,
                headers: headers)
            #expect(signedOut["deviceID"] as? String == id)
            #expect(try await cloud.client.get(list).status == 421)

            let again = TestCloud.target("zones/list", "private", try await cloud.signIn())
            #expect(try await cloud.client.get(again).status == 200)
            let reset = try await cloud.client.post(
                Self.target("keys/reset"), #"{"email":"ada@example.com","account":true}"#, headers: headers)
            #expect(reset.status == 200)
            #expect(try await cloud.client.get(again).status != 200)
        }
    }

    @Test func `an account that a production container knows keeps its keys and devices`() async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let (headers, _) = try await make(cloud)
            _ = try await cloud.accountStore.apiTokens.create(
                container: ContainerID(TestCloud.container), environment: .production, name: "")
            for (action, body) in [
                ("keys/reset", #"{"email":"ada@example.com","account":true}"#),
                ("devices/revoke", #"{"email":"ada@example.com","device":"a"}"#),
            ] {
                let answer = try await cloud.client.post(Self.target(action), body, headers: headers)
                #expect(answer.status == 403)
            }
            #expect(try await cloud.client.get(TestCloud.target("zones/list", "private", tokens)).status == 200)
        }
    }

    @Test func `every fault order is in the log with its author, and without a secret`() async throws {
        try await TestCloud.run { cloud in
            _ = try await cloud.signIn()
            let (headers, row) = try await make(cloud)
            _ = try await cloud.client.post(
                Self.target("faults/order"), #"{"kind":"quota","bytes":7,"email":"ada@example.com"}"#, headers: headers)
            _ = try await cloud.client.post(
                Self.target("zones/purge"), #"{"email":"ada@example.com","zone":"Hidden"}"#, headers: headers)
            let orders = cloud.log.lines.filter { $0.message == "operator's order" }.map(\.metadata)
            #expect(orders.map { $0["order"] } == ["faults/order", "zones/purge"])
            #expect(orders.map { $0["outcome"] } == ["done", "zoneNotFound"])
            #expect(orders.allSatisfy { $0["operator"] == row.id && $0["container"] == TestCloud.container })
            #expect(orders[0]["kind"] == "quota" && orders[0]["user"]?.hasPrefix("_") == true)
            for (message, metadata) in cloud.log.lines {
                let text = message + metadata.description
                let token = String(headers["Authorization"]!.dropFirst("Bearer ".count))
                for secret in [token, row.hash, "ada@example.com", "Hidden"] { #expect(!text.contains(secret)) }
            }
        }
    }

    @Test func `a token of one container gives access to nothing beyond it`() async throws {
        try await TestCloud.run { cloud in
            _ = try await cloud.signIn()
            let (token, _) = try await cloud.accountStore.operatorTokens
                .create(name: "developer", container: ContainerID(TestCloud.container))
            let headers = bearer(token)
            #expect(try await cloud.client.get(Self.target("faults/list"), headers: headers).status == 200)
            let schema = Self.target("schema/export", environment: "production")
            #expect(try await cloud.client.get(schema, headers: headers).status == 200)
            let person = #"{"email":"ada@example.com"}"#
            let expired = try await cloud.client.post(Self.target("tokens/expire"), person, headers: headers)
            #expect(expired.status == 200)

            for action in [
                "faults/list", "faults/order", "faults/remove", "tokens/expire", "zones/compact", "zones/purge",
                "keys/reset", "devices/list", "devices/revoke", "schema/export", "schema/import", "schema/diff",
                "schema/deploy", "schema/reset", "schema/roles",
            ] {
                let foreign = try await cloud.client.post(
                    "/admin/1/\(TestCloud.container).other/development/\(action)", "{}", headers: headers)
                #expect(foreign.status == 403, "\(action)")
                #expect(foreign["reason"] as? String == "the operator's token is for another container")
            }
            // What an account has everywhere is not a developer's to see or change.
            for (action, body) in [
                ("devices/list", person), ("devices/revoke", #"{"email":"ada@example.com","device":"a"}"#),
                ("keys/reset", #"{"email":"ada@example.com","account":true}"#),
            ] {
                let refused = try await cloud.client.post(Self.target(action), body, headers: headers)
                #expect(refused.status == 403, "\(action)")
                #expect(refused["reason"] as? String == "the operator's token is for one container only")
            }
            #expect(try await cloud.client.get("/metrics", headers: headers).status == 403)
            #expect(try await cloud.client.get("/metrics").status == 200)
        }
    }

    @Test func `metrics are for this machine and for operators`() async throws {
        try await TestCloud.run { cloud in
            #expect(try await cloud.client.get("/metrics").status == 200)
            #expect(try await cloud.client.get("/metrics", headers: bearer("wrong")).status == 401)
            for header in ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"] {
                let answer = try await cloud.client.get("/metrics", headers: [header: "for=192.0.2.1"])
                #expect(answer.status == 401)
                #expect(answer["serverErrorCode"] as? String == "AUTHENTICATION_FAILED")
            }
            let (headers, _) = try await make(cloud)
            #expect(try await cloud.client.get("/metrics").status == 200)
            #expect(
                try await cloud.client.get(
                    "/metrics", headers: headers.merging(["X-Forwarded-For": "192.0.2.1"]) { $1 }
                ).status == 200)
        }
        for configuration in [
            CloudConfiguration(port: 0, isBehindProxy: true),
            CloudConfiguration(port: 0, publicURL: "https://cloud.example.com"),
        ] {
            try await TestCloud.run(configuration) { cloud in
                #expect(try await cloud.client.get("/metrics").status == 401)
                let (headers, _) = try await make(cloud)
                #expect(try await cloud.client.get("/metrics", headers: headers).status == 200)
            }
        }
    }
}
