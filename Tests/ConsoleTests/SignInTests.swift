import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import OrderedStore
import Testing
import TextEncodings

/// Signing in to the Console and out.
@Suite(.timeLimit(.minutes(20))) struct SignInTests {
    @Test func `there is no Console while no one could sign in`() async throws {
        try await ConsoleCloud.run { cloud in
            let browser = Browser(cloud)
            let token = try await cloud.operatorToken()
            let page = try await browser.get("/console/sign-in").text
            let start = try #require(page.firstRange(of: "/console/style-"))
            let style = String(page[start.lowerBound...].prefix { $0 != "\"" })
            #expect(try await browser.get(style).status == 200)
            let unknown = try await browser.get("/nothing")
            _ = try await cloud.accounts.operatorTokens.revoke(token)
            for path in ["/console", "/console/", "/console/sign-in", "/console/containers", "/console/x", style] {
                let answer = try await browser.get(path)
                #expect(answer.status == 404)
                #expect(answer.text.count == unknown.text.count)
                #expect(answer.headers["content-security-policy"] == nil)
            }
            #expect(try await browser.signIn(token: token).status == 404)
        }
    }

    @Test func `a token signs in, once the form has it, and its revocation signs out`() async throws {
        try await ConsoleCloud.run { cloud in
            let token = try await cloud.operatorToken()
            _ = try await cloud.operatorToken()
            let browser = Browser(cloud)
            let first = try await browser.get("/console/containers?after=x")
            #expect(first.status == 303)
            #expect(first.headers["location"] == "/console/sign-in?next=%2Fconsole%2Fcontainers%3Fafter%3Dx")
            let signedIn = try await browser.signIn(token: " \(token)\n", next: "/console/containers?after=x")
            #expect(signedIn.status == 303)
            #expect(signedIn.headers["location"] == "/console/containers?after=x")
            let cookie = try #require(signedIn.headers["set-cookie"])
            #expect(cookie.hasSuffix("; Path=/console; HttpOnly; SameSite=Strict"))
            #expect(try await browser.get("/console").status == 200)
            #expect(!cloud.log.text.contains(token))
            _ = try await cloud.accounts.operatorTokens.revoke(token)
            #expect(try await browser.get("/console").status == 303)
        }
    }

    @Test func `the store keeps sessions over a restart, and no cookie`() async throws {
        let store = MemoryStore()
        let clock = SetClock()
        let cookie = Cookie()
        try await ConsoleCloud.run(store: store, clock: clock) { cloud in
            let browser = try await cloud.signedIn()
            await cookie.set(browser.cookie)
        }
        try await ConsoleCloud.run(store: store, clock: clock) { cloud in
            let browser = Browser(cloud)
            browser.cookie = await cookie.value
            #expect(try await browser.get("/console").status == 200)
            let secret = try #require(browser.cookie?.split(separator: "=").last)
            let rows = try await cloud.cloud.store.read(AccountStore.partition) { view in
                try await view.scan(KeyRange(lower: [0], upper: [0xFF]), limit: .max)
            }
            #expect(rows.contains { String(decoding: $0.key, as: UTF8.self).hasPrefix("console-session/") })
            #expect(!rows.contains { String(decoding: $0.key + $0.value, as: UTF8.self).contains(secret) })
        }
    }

    @Test func `a session ends with sign-out, after twelve idle hours and after a week`() async throws {
        try await ConsoleCloud.run { cloud in
            let browser = try await cloud.signedIn()
            let cookie = browser.cookie
            #expect(try await browser.post("/console/sign-out").status == 303)
            #expect(browser.cookie == nil)
            browser.cookie = cookie
            #expect(try await browser.get("/console").status == 303)

            let idle = try await cloud.signedIn()
            cloud.clock.advance(12 * 3_600_000 - 1)
            #expect(try await idle.get("/console").status == 200)
            cloud.clock.advance(12 * 3_600_000 - 1)
            #expect(try await idle.get("/console").status == 200)
            cloud.clock.advance(12 * 3_600_000)
            #expect(try await idle.get("/console").status == 303)

            let busy = try await cloud.signedIn()
            for _ in 0..<16 {
                #expect(try await busy.get("/console").status == 200)
                cloud.clock.advance(11 * 3_600_000)
            }
            #expect(try await busy.get("/console").status == 303)
        }
    }

    @Test func `wrong tokens are refused, and soon have to wait`() async throws {
        try await ConsoleCloud.run { cloud in
            let token = try await cloud.operatorToken()
            let browser = Browser(cloud)
            for wrong in ["", "x", token + "0", String(repeating: "0", count: 64), token.uppercased() + "é"] {
                let answer = try await browser.signIn(token: wrong)
                #expect(answer.status == 403)
                #expect(answer.content.contains("wrong operator's token"))
                #expect(answer.headers["set-cookie"] == nil)
            }
            for number in 0..<45 {
                #expect(try await browser.signIn(token: "wrong \(number)").status == 403)
            }
            let refused = try await browser.signIn(token: "wrong again")
            #expect(refused.status == 429)
            #expect(refused.headers["retry-after"] != nil)
            // The right one has to wait as well, but not for other addresses' failures for ever.
            #expect(try await browser.signIn(token: token).status == 429)
            cloud.clock.advance(15 * 60_000)
            #expect(try await browser.signIn(token: token).status == 303)
        }
    }

    @Test(arguments: [
        "https://evil.example/", "//evil.example", "/console/../admin", "/consolex", "/console//evil.example",
        "javascript:alert(1)", "/console\\evil",
    ])
    func `signing in leads to pages of the Console alone`(_ next: String) async throws {
        try await ConsoleCloud.run { cloud in
            let token = try await cloud.operatorToken()
            let answer = try await Browser(cloud).signIn(token: token, next: next)
            #expect(answer.headers["location"] == "/console")
        }
    }

    @Test func `an account with the role signs in by its password's proof, and no other`() async throws {
        try await ConsoleCloud.run { cloud in
            _ = try await cloud.user("ada@example.com")
            _ = try await cloud.user("grace@example.com")
            let roles = cloud.accounts.operatorAccounts
            func attempt(_ browser: Browser, _ email: String, _ proof: [UInt8]) async throws -> Int {
                try await browser.post(
                    "/console/sign-in", [("email", email), ("proof", Base64.encode(proof))], addsToken: false
                ).status
            }
            let browser = Browser(cloud)
            #expect(try await attempt(browser, "ada@example.com", ConsoleCloud.proof) == 404)
            try await roles.set(true, email: "ada@example.com")
            let puzzle = try await browser.post(
                "/console/sign-in/prepare", [("email", "ada@example.com")], addsToken: false)
            #expect(puzzle.status == 200)
            #expect(puzzle.text.contains("\"rounds\":1"))
            #expect(try await attempt(browser, "ada@example.com", [1]) == 403)
            #expect(try await attempt(browser, "grace@example.com", ConsoleCloud.proof) == 403)
            #expect(try await attempt(browser, "nobody@example.com", ConsoleCloud.proof) == 403)
            #expect(try await attempt(browser, "ada@example.com", ConsoleCloud.proof) == 303)
            #expect(try await browser.get("/console").status == 200)
            try await cloud.accounts.accounts.setDisabled(true, email: "ada@example.com")
            #expect(try await browser.get("/console").status == 303)
            try await cloud.accounts.accounts.setDisabled(false, email: "ada@example.com")
            #expect(try await browser.get("/console").status == 200)
            try await roles.set(false, email: "ada@example.com")
            _ = try await cloud.operatorToken()
            #expect(try await browser.get("/console").status == 303)
        }
    }

    @Test func `other host names and other origins get nothing`() async throws {
        try await ConsoleCloud.run { cloud in
            let browser = try await cloud.signedIn()
            #expect(try await browser.get("/console", headers: ["Host": "evil.example"]).status == 403)
            let foreign = try await browser.get("/console", headers: ["Origin": "https://evil.example"])
            #expect(foreign.status == 403)
            #expect(foreign.headers["access-control-allow-origin"] == nil)
            let token = try await cloud.operatorToken()
            for headers in [["Origin": "https://evil.example"], ["Origin": "null"], ["Sec-Fetch-Site": "cross-site"]] {
                let answer = try await Browser(cloud).post(
                    "/console/sign-in", [("token", token)], headers: headers, addsToken: false)
                #expect(answer.status == 403)
                #expect(answer.headers["set-cookie"] == nil)
            }
        }
    }

    @Test func `the cookie is for TLS alone where there is TLS`() async throws {
        let configuration = CloudConfiguration(port: 0, publicURL: "https://cloud.example.com")
        try await ConsoleCloud.run(configuration) { cloud in
            let answer = try await Browser(cloud).signIn(token: try await cloud.operatorToken())
            #expect(answer.headers["set-cookie"]?.hasSuffix("; Secure") == true)
        }
    }

    private actor Cookie {
        private(set) var value: String?
        func set(_ value: String?) { self.value = value }
    }
}
