import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Testing

/// The page of API tokens and of keys of servers.
@Suite(.timeLimit(.minutes(5))) struct TokensTests {
    private static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt
        6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==
        -----END PUBLIC KEY-----
        """

    @Test func `an API token is made with its origins, shown once, and revoked`() async throws {
        try await OperatedCloud.run { test in
            let browser = try await test.browser()
            let path = OperatedCloud.path("tokens")
            let made = try await browser.submit(
                path,
                [
                    ("form", "token"), ("name", "web & app"), ("callback", "https://app.example.com/done"),
                    ("origins", "https://app.example.com\r\n http://localhost:8080 \r\n"),
                ])
            #expect(made.status == 200 && made.shows("API token created."))
            let row = try #require(try await test.cloud.accountStore.apiTokens.list().first)
            #expect(row.allowedOrigins == ["https://app.example.com", "http://localhost:8080"])
            #expect(row.callback == "https://app.example.com/done" && row.environment == "development")
            let start = try #require(made.body.firstRange(of: "<pre><code>"))
            let token = String(made.body[start.upperBound...].prefix { $0 != "<" })
            #expect(try await test.cloud.accountStore.apiTokens.find(token)?.id == row.id)
            let shown = try await browser.get(path)
            #expect(!shown.shows(token) && shown.shows("web &amp; app") && !shown.shows(row.hash))
            #expect(try await !browser.get(OperatedCloud.path("tokens", "production")).shows(row.id))
            let revoked = try await browser.submit(path, [("order", "revoke-token"), ("token", row.id)])
            #expect(revoked.shows("is revoked."))
            #expect(try await test.cloud.accountStore.apiTokens.find(token) == nil)
        }
    }

    @Test(arguments: [
        ("origins", "app.example.com"), ("origins", "https://app.example.com/path"), ("origins", "javascript:alert(1)"),
        ("origins", "https://\"><script>"), ("callback", "javascript:alert(1)"), ("callback", "https://a b"),
    ]) func `what is no origin and no address is named at its field`(_ field: String, _ value: String) async throws {
        try await OperatedCloud.run { test in
            let browser = try await test.browser()
            let page = try await browser.submit(OperatedCloud.path("tokens"), [("form", "token"), (field, value)])
            #expect(page.status == 400 && page.shows("id=\"token-\(field)-error\"") && !page.shows("\"><script>"))
            #expect(try await test.cloud.accountStore.apiTokens.list().isEmpty)
        }
    }

    @Test func `a server's public key is registered and revoked, anything else refused at the field`() async throws {
        try await OperatedCloud.run { test in
            let browser = try await test.browser()
            let path = OperatedCloud.path("tokens")
            let done = try await browser.submit(
                path, [("form", "key"), ("name", "importer"), ("public-key", Self.publicKey)])
            #expect(done.status == 200 && done.shows("The key is registered."))
            let key = try #require(try await test.cloud.accountStore.serverKeys.list().first)
            #expect(key.container == OperatedCloud.container.name && done.shows(key.id))
            for text in ["", "<b>", "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----"] {
                let page = try await browser.submit(path, [("form", "key"), ("public-key", text)])
                #expect(page.status == 400 && page.shows("id=\"key-public-key-error\""))
            }
            #expect(try await test.cloud.accountStore.serverKeys.list().count == 1)
            _ = try await browser.submit(path, [("order", "revoke-key"), ("key", key.id)])
            #expect(try await test.cloud.accountStore.serverKeys.find(key.id) == nil)
        }
    }

    @Test func `a token of another container or environment is not revoked here`() async throws {
        try await OperatedCloud.run { test in
            let tokens = test.cloud.accountStore.apiTokens
            let other = try await tokens.create(container: OperatedCloud.other, environment: .development, name: "")
            let production = try await tokens.create(
                container: OperatedCloud.container, environment: .production, name: "")
            let browser = try await test.browser(of: OperatedCloud.container)
            for id in [other.row.id, production.row.id, ""] {
                let page = try await browser.submit(
                    OperatedCloud.path("tokens"), [("order", "revoke-token"), ("token", id)])
                #expect(page.status == 400 && page.shows("no such API token"))
            }
            #expect(try await tokens.find(other.token) != nil)
            #expect(try await tokens.find(production.token) != nil)
        }
    }
}
