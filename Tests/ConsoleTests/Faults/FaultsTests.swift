import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Testing

/// The page that orders faults.
@Suite(.timeLimit(.minutes(5))) struct FaultsTests {
    private static let path = OperatedCloud.path("faults")

    @Test func `faults are ordered, listed and removed`() async throws {
        try await OperatedCloud.run { test in
            let ada = try await test.user("ada@example.com")
            let browser = try await test.browser(of: OperatedCloud.container)
            let done = try await browser.submit(
                Self.path,
                [
                    ("form", "order"), ("kind", "throttle"), ("person", "ada@example.com"), ("seconds", "30"),
                    ("bytes", ""), ("retry-after", "on"),
                ])
            #expect(done.status == 200 && done.shows("is active.") && done.shows(ada.recordName))
            let fault = try #require(try await test.cloud.faults.list().first)
            #expect(fault.kind == .throttle && fault.user == ada.recordName && fault.sendsRetryAfter)
            #expect(fault.container == OperatedCloud.container.name && fault.until == test.time.now + 30_000)
            _ = try await browser.submit(Self.path, [("form", "order"), ("kind", "quota"), ("bytes", "100")])
            _ = try await browser.submit(Self.path, [("form", "order"), ("kind", "unavailable")])
            #expect(try await test.cloud.faults.list().count == 3)
            _ = try await browser.submit(Self.path, [("form", "remove"), ("id", fault.id)])
            #expect(try await test.cloud.faults.list().count == 2)
            _ = try await browser.submit(Self.path, [("form", "remove-all")])
            #expect(try await test.cloud.faults.list().isEmpty)
            #expect(try await browser.get(Self.path).shows("No fault is active."))
        }
    }

    @Test(arguments: [
        ("person", "order", "throttle", [("person", "eve@example.com")]),
        ("seconds", "order", "throttle", [("seconds", "soon")]), ("seconds", "order", "throttle", [("seconds", "-1")]),
        ("seconds", "order", "throttle", [("seconds", "nan")]), ("bytes", "order", "quota", []),
        ("bytes", "order", "throttle", [("bytes", "1")]), ("kind", "order", "fire", []),
        ("person", "expire-tokens", "", []), ("zone", "compact", "", [("person", "ada@example.com")]),
        ("zone", "compact", "", [("person", "ada@example.com"), ("zone", "<b>")]),
        ("device", "sign-out", "", [("person", "ada@example.com"), ("device", "ff")]),
    ]) func `what is wrong is named at its field`(
        _ field: String, _ form: String, _ kind: String, _ fields: [(String, String)]
    ) async throws {
        try await OperatedCloud.run { test in
            try await test.user("ada@example.com")
            let browser = try await test.browser()
            let page = try await browser.submit(Self.path, [("form", form), ("kind", kind)] + fields)
            #expect((400..<500).contains(page.status))
            #expect(page.shows("id=\"\(form)-\(field)-error\""), "\(form) \(field)")
            #expect(!page.shows("<b>"))
            #expect(try await test.cloud.faults.list().isEmpty)
        }
    }

    @Test func `a zone is purged after a question, and tokens expire`() async throws {
        try await OperatedCloud.run { test in
            let ada = try await test.user("ada@example.com")
            let address = DatabaseAddress(
                container: OperatedCloud.container, environment: .development, scope: .private)
            _ = try await ModifyZones(test.cloud).run(
                [.create(ZoneID(zoneName: "Notes"))], in: address, by: Caller(user: ada))
            let browser = try await test.browser()
            let fields = [("form", "purge"), ("person", "ada@example.com"), ("zone", "Notes")]
            let asked = try await browser.submit(Self.path, fields)
            #expect(
                asked.status == 200 && asked.shows("<h1><bdi>Purge Notes</bdi></h1>") && asked.shows("value=\"Notes\""))
            func zones() async throws -> [String] {
                try await ListZones(test.cloud).run(in: address, by: Caller(user: ada)).map(\.id.zoneName)
            }
            #expect(try await zones().contains("Notes"))
            let expired = try await browser.submit(
                Self.path, [("form", "expire-tokens"), ("person", ada.recordName), ("zone", "Notes")])
            #expect(expired.shows("Change tokens of Notes are expired."))
            let compacted = try await browser.submit(
                Self.path, [("form", "compact"), ("person", ada.recordName), ("zone", "Notes")])
            #expect(compacted.shows("0 deletions are removed"))
            let done = try await browser.submit(Self.path, fields + [("confirmed", "yes")])
            #expect(done.status == 200 && done.shows("Zone Notes is purged."))
            #expect(try await !zones().contains("Notes"))
        }
    }

    @Test func `operators of one container reach no account, and no one orders faults in production`() async throws {
        try await OperatedCloud.run { test in
            try await test.user("ada@example.com")
            let browser = try await test.browser(of: OperatedCloud.container)
            #expect(try await !browser.get(Self.path).shows("Sign out a device"))
            for form in ["sign-out", "reset-keychain"] {
                let page = try await browser.submit(
                    Self.path,
                    [("form", form), ("person", "ada@example.com"), ("device", "a"), ("confirmed", "yes")])
                #expect(page.status == 403)
            }
            let production = OperatedCloud.path("faults", "production")
            #expect(try await browser.get(production).shows("in development only"))
            let page = try await browser.submit(production, [("form", "order"), ("kind", "unavailable")])
            #expect(page.status == 403)
            #expect(try await test.cloud.faults.list().isEmpty)
        }
    }
}
