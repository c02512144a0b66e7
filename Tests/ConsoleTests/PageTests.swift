import CloudKitAccounts
import CloudKitHTTP
import CloudKitModel
import CloudKitServer
import Testing

@testable import Console

/// What holds for every page, by the table of pages.
@Suite(.timeLimit(.minutes(20))) struct PageTests {
    private static let pages = ConsolePages().pages
    private static let paths = pages.map(\.path)

    private static func address(_ path: String, in container: ContainerID = ConsoleCloud.container) -> String {
        "/console/"
            + path.replacing("{container}", with: container.name).replacing("{environment}", with: "development")
    }

    private static func isOfContainer(_ path: String) -> Bool { path.contains("{container}") }

    /// Whether a page shows one thing, which its path or its query names, and is 404 without it.
    private static func namesThing(_ path: String) -> Bool {
        path.hasSuffix("schema/remove")
            || path.replacing("{container}", with: "").replacing("{environment}", with: "").contains("{")
    }

    @Test(arguments: paths) func `strangers are led to the sign-in page`(_ path: String) async throws {
        try await ConsoleCloud.run { cloud in
            _ = try await cloud.operatorToken()
            for answer in [
                try await Browser(cloud).get(Self.address(path)), try await Browser(cloud).post(Self.address(path)),
            ] {
                #expect(answer.status == 303)
                #expect(answer.headers["location"]?.hasPrefix("/console/sign-in") == true)
                #expect(answer.text.isEmpty)
            }
        }
    }

    @Test(arguments: paths) func `operators of one container see that one alone`(_ path: String) async throws {
        try await ConsoleCloud.run { cloud in
            _ = try await cloud.accounts.apiTokens.create(
                container: ConsoleCloud.otherContainer, environment: .development, name: "")
            try await cloud.save("secret-record", in: ConsoleCloud.otherContainer)
            try await cloud.save("own-record")
            let browser = try await cloud.signedIn(container: ConsoleCloud.container)
            let own = try await browser.get(Self.address(path))
            if Self.isOfContainer(path) {
                #expect(!own.text.contains("Page not found") || Self.namesThing(path))
                for answer in [
                    try await browser.get(Self.address(path, in: ConsoleCloud.otherContainer)),
                    try await browser.post(Self.address(path, in: ConsoleCloud.otherContainer)),
                ] {
                    #expect(answer.status == 404)
                    #expect(answer.text.contains("Page not found"))
                }
            } else {
                let isForAll = try #require(Self.pages.first { $0.path == path }).audience == .everyOperator
                #expect(own.status == (isForAll && !Self.namesThing(path) ? 200 : 404))
            }
            #expect(!own.text.contains(ConsoleCloud.otherContainer.name))
            #expect(!own.text.contains("secret-record"))
        }
    }

    @Test(arguments: paths) func `forms need the session's token and the Console's origin`(_ path: String) async throws
    {
        try await ConsoleCloud.run { cloud in
            try await cloud.save("record")
            let browser = try await cloud.signedIn()
            let other = try await cloud.signedIn().formToken()
            let own = try await browser.formToken()
            let address = Self.address(path)
            func status(_ token: String?, _ headers: [String: String] = [:]) async throws -> Int {
                try await browser.post(
                    address, token.map { [("form-token", $0)] } ?? [], headers: headers, addsToken: false
                ).status
            }
            for token in [nil, "", other, String(own.dropLast()), own + "0"] {
                #expect(try await status(token) == 403)
            }
            #expect(try await status(own, ["Origin": "https://evil.example"]) == 403)
            #expect(try await status(own, ["Origin": "null"]) == 403)
            #expect(try await status(own, ["Sec-Fetch-Site": "cross-site"]) == 403)
            #expect(try await status(own, ["Sec-Fetch-Site": "same-site"]) == 403)
            #expect(cloud.log.orders.isEmpty)
            let token = try await browser.formToken()
            #expect(token == own)
            #expect(
                try await status(own, ["Sec-Fetch-Site": "same-origin", "Origin": cloud.base]) != 403
                    || path.hasSuffix("delete"))
        }
    }

    @Test(arguments: paths) func `every page is strict about what it loads`(_ path: String) async throws {
        try await ConsoleCloud.run { cloud in
            try await cloud.save("record")
            let browser = try await cloud.signedIn()
            let answer = try await browser.get(Self.address(path))
            let policy = try #require(answer.headers["content-security-policy"])
            #expect(policy.hasPrefix("default-src 'none'"))
            #expect(!policy.contains("unsafe") && !policy.contains("http"))
            for part in ["frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"] {
                #expect(policy.contains(part))
            }
            #expect(answer.headers["cache-control"] == "no-store")
            #expect(answer.headers["x-content-type-options"] == "nosniff")
            #expect(answer.headers["x-frame-options"] == "DENY")
            #expect(
                !answer.text.contains(" style=") && !answer.text.contains("<style") && !answer.text.contains(" onclick")
            )
            #expect(answer.text.firstMatch(of: /(src|href|action|srcset)="?(https?:)?\/\//) == nil)
            if let cookie = browser.cookie?.split(separator: "=").last { #expect(!answer.text.contains(cookie)) }
        }
    }

    @Test func `paths lead to one page each`() throws {
        #expect(Set(Self.paths).count == Self.paths.count)
        for path in Self.paths {
            let match = try ConsolePages().match(Self.address(path).dropFirst("/console".count))
            #expect(match.page.path == path)
        }
        #expect(try ConsolePages().match("").page.path == "containers")
        #expect(throws: RequestFailure.self) { try ConsolePages().match("/containers/a/development/nothing") }
        #expect(throws: RequestFailure.self) {
            try ConsolePages().match("/containers/..%2Fx/development").containerPath()
        }
        #expect(throws: RequestFailure.self) { try ConsolePages().match("/containers/a/staging").containerPath() }
    }

    @Test func `the files are kept by browsers`() async throws {
        try await ConsoleCloud.run { cloud in
            let browser = try await cloud.signedIn()
            let page = try await browser.get("/console").text
            for beginning in ["/console/style-", "/console/script-"] {
                let start = try #require(page.firstRange(of: beginning))
                let path = String(page[start.lowerBound...].prefix { $0 != "\"" })
                let answer = try await Browser(cloud).get(path)
                #expect(answer.status == 200)
                #expect(answer.headers["cache-control"]?.contains("immutable") == true)
            }
        }
    }

    @Test func `containers show use, and come in pages`() async throws {
        try await ConsoleCloud.run { cloud in
            for number in 0..<60 {
                _ = try await cloud.accounts.apiTokens.create(
                    container: ContainerID("iCloud.com.example.n\(100 + number)"), environment: .development, name: "")
            }
            let user = try await cloud.user()
            try await cloud.save("one")
            try await cloud.save("two")
            try await cloud.save("own", "Note", user: user)
            let browser = try await cloud.signedIn()
            let first = try await browser.get("/console")
            #expect(first.status == 200)
            #expect(first.text.utf8.count < 100_000)
            #expect(first.content.contains("2 records"))
            #expect(first.content.contains("1 database, 1 records") || first.content.contains("1 database"))
            #expect(first.content.contains("to deploy"))
            #expect(!first.text.contains("n159"))
            let second = try await browser.get("/console/containers?after=iCloud.com.example.n148")
            #expect(second.text.contains("n159"))
            #expect(!second.text.contains("n148<"))
            let overview = try await browser.get(ConsoleCloud.path(""))
            #expect(overview.content.contains("2 records"))
        }
    }
}
