import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer
import Testing

/// Requests that an injected fault applies to: every request of an app.
@Suite(.timeLimit(.minutes(20))) struct InjectedFaultTests {
    private func order(
        _ kind: Fault.Kind, _ cloud: TestCloud, email: String? = nil, environment: String = "development"
    ) async throws {
        let (token, _) = try await cloud.accountStore.operatorTokens
            .create(name: "tests")
        let person = email.map { #","email":"\#($0)""# } ?? ""
        let answer = try await cloud.client.post(
            "/admin/1/\(TestCloud.container)/\(environment)/faults/order",
            #"{"kind":"\#(kind.rawValue)","seconds":20\#(person)}"#, headers: ["Authorization": "Bearer " + token])
        #expect(answer.status == 200)
    }

    private static func device(_ action: String, _ tokens: TestCloud.Tokens) -> String {
        "/device/1/\(TestCloud.container)/development/\(action)\(tokens.query)"
    }

    /// Returns the status of each answer to the requests of this user's app.
    private func statuses(
        _ cloud: TestCloud, _ tokens: TestCloud.Tokens, upload: String, file: String
    ) async throws -> [String: Int] {
        var statuses: [String: Int] = [:]
        for (endpoint, database, body) in [
            ("records/lookup", "private", #"{"records":[{"recordName":"R"}]}"#),
            ("records/query", "public", #"{"query":{"recordType":"Note"}}"#),
            ("records/resolve", "public", #"{"shortGUIDs":[{"value":"x"}]}"#), ("zones/list", "private", "{}"),
            ("zones/list", "shared", "{}"), ("changes/database", "private", "{}"),
            ("subscriptions/list", "private", "{}"), ("users/current", "public", "{}"),
            ("users/lookup/participants", "public", #"{"users":[]}"#),
            ("assets/upload", "private", #"{"tokens":[{"recordType":"Note","fieldName":"photo"}]}"#),
        ] {
            let answer = try await cloud.client.post(TestCloud.target(endpoint, database, tokens), body)
            statuses[database + "/" + endpoint] = answer.status
        }
        let created = #"{"apnsEnvironment":"development","clientId":"c"}"#
        statuses["tokens/create"] = try await cloud.client.post(Self.device("tokens/create", tokens), created).status
        statuses["tokens/register"] = try await cloud.client.post(
            Self.device("tokens/register", tokens), #"{"apnsEnvironment":"development","apnsToken":"AAAA"}"#
        ).status
        statuses["identities/lookup"] = try await cloud.client.post(
            Self.device("identities/lookup", tokens), #"{"userRecordNames":[]}"#
        ).status
        statuses["directory/lookup"] = try await cloud.client.post(
            Self.device("directory/lookup", tokens), #"{"addresses":[]}"#
        ).status
        statuses["upload"] = try await cloud.client.post(upload, "0123").status
        statuses["upload, HEAD"] = try await cloud.head(upload).status
        statuses["upload, PATCH"] = try await cloud.client.send(
            "PATCH", upload, body: "0123", headers: ["Upload-Offset": "0", "Upload-Length": "4"]
        ).status
        statuses["download"] = try await cloud.client.get(file).status
        return statuses
    }

    @Test(arguments: [(Fault.Kind.throttle, 429), (.unavailable, 503)])
    func `B-THR-02 an injected fault applies to every request of an app, and not to other services`(
        _ kind: Fault.Kind, _ status: Int
    ) async throws {
        try await TestCloud.run { cloud in
            let tokens = try await cloud.signIn()
            let file = try await cloud.storedFile("0123456789", tokens)
            let upload = try await cloud.uploadURL(tokens)
            let made = try await cloud.client.post(
                Self.device("tokens/create", tokens), #"{"apnsEnvironment":"development","clientId":"c"}"#)
            #expect(made.status == 200)
            try await order(kind, cloud)
            for (request, found) in try await statuses(cloud, tokens, upload: upload, file: file) {
                #expect(found == status, "\(request)")
            }
            let refused = try await cloud.client.get(file)
            #expect(refused.headers["retry-after"] == "20")
            // Signing in, looking after the account, pages.
            _ = try await cloud.signIn()
            #expect(try await cloud.client.get("/health").status == 200)
            cloud.clock.advance(21_000)
            for (request, found) in try await statuses(cloud, tokens, upload: upload, file: file) {
                #expect(found != status, "\(request)")
            }
        }
    }

    @Test
    func `B-THR-02 an injected fault for one user applies to that user's files in any zone, and to no other user's`()
        async throws
    {
        try await TestCloud.run { cloud in
            let ada = try await cloud.signIn()
            let bob = try await cloud.signIn(email: "bob@example.com")
            let file = try await cloud.storedFile("0123456789", ada)
            let upload = try await cloud.uploadURL(ada)
            let (bobsFile, bobsUpload) = (try await cloud.storedFile("abc", bob), try await cloud.uploadURL(bob))
            try await order(.throttle, cloud, email: "ada@example.com")
            for (request, status) in try await statuses(cloud, ada, upload: upload, file: file) {
                #expect(status == 429, "\(request)")
            }
            for (request, status) in try await statuses(cloud, bob, upload: bobsUpload, file: bobsFile) {
                #expect(status != 429, "\(request)")
            }
        }
    }
}
