import CloudKitModel
import CloudKitServer
import Testing

/// Who reaches the pages of schemas, people, tokens and faults.
@Suite(.timeLimit(.minutes(5))) struct PageScopeTests {
    private static let containerPages = [
        "schema", "schema/types/Note", "schema/remove?type=Note", "schema/roles/editor", "schema/text",
        "schema/export", "schema/deployment", "schema/reset", "tokens", "faults",
    ]
    private static let cloudPages = [
        "people", "people/000000000000", "people/000000000000/remove", "people/000000000000/reset-keys",
        "operators",
    ]
    private static let schema = "DEFINE SCHEMA CREATE ROLE editor; RECORD TYPE Note (title STRING);"

    @Test func `an operator of one container gets 404 everywhere else`() async throws {
        try await OperatedCloud.run { test in
            try await test.import(Self.schema)
            let own = try await test.browser(of: OperatedCloud.container)
            let stranger = try await test.browser(of: OperatedCloud.other)
            for page in Self.containerPages {
                #expect(try await own.get(OperatedCloud.path(page)).status == 200, "\(page)")
                #expect(try await stranger.get(OperatedCloud.path(page)).status == 404, "\(page)")
                let path = OperatedCloud.path(String(page.prefix { $0 != "?" }))
                #expect(
                    try await stranger.submit(path, [("form", "add-type"), ("name", "A")]).status == 404, "\(page)")
            }
            for page in Self.cloudPages {
                #expect(try await own.get("/console/" + page).status == 404, "\(page)")
                #expect(try await own.submit("/console/" + page, [("order", "disable")]).status == 404, "\(page)")
            }
            #expect(try await !own.get(OperatedCloud.path("schema")).shows(">People<"))
            #expect(try await test.cloud.schema(OperatedCloud.container, .development)["A"] == nil)
        }
    }

    @Test func `a form without the token of its session changes nothing`() async throws {
        try await OperatedCloud.run { test in
            try await test.import(Self.schema)
            let ada = try await test.user("ada@example.com")
            let account = try #require(try await test.cloud.accountStore.accounts.account(email: "ada@example.com"))
            let browser = try await test.browser()
            let other = try await test.browser()
            let foreign = try #require(try await other.get("/console/containers").formToken)
            let schema = try await test.cloud.schema(OperatedCloud.container, .development)
            for token in ["", foreign, String(repeating: "0", count: 64)] {
                for (path, fields) in [
                    (OperatedCloud.path("schema"), [("form", "add-type"), ("name", "A")]),
                    (OperatedCloud.path("schema/reset"), [("form", "reset"), ("name", OperatedCloud.container.name)]),
                    (OperatedCloud.path("schema/deployment", "production"), [("form", "deploy"), ("force", "on")]),
                    (OperatedCloud.path("schema/roles/editor"), [("form", "give"), ("person", ada.recordName)]),
                    (OperatedCloud.path("tokens"), [("form", "token")]),
                    (OperatedCloud.path("faults"), [("form", "order"), ("kind", "throttle")]),
                    ("/console/people/\(account.shownID)", [("order", "disable")]),
                    ("/console/operators", [("form", "create")]),
                ] {
                    #expect(try await browser.submit(path, fields, token: token).status == 403, "\(path)")
                }
            }
            #expect(try await test.cloud.schema(OperatedCloud.container, .development) == schema)
            #expect(try await test.cloud.faults.list().isEmpty)
            #expect(try await test.cloud.accountStore.apiTokens.list().isEmpty)
            #expect(try await test.cloud.accountStore.operatorTokens.list().count == 2)
            #expect(test.log.orders.isEmpty)
        }
    }

    @Test(arguments: ["%3Cscript%3Ealert(1)%3C%2Fscript%3E", "%22%3E%3Cimg%20src%3Dx%3E", "..%2F..", "%00"])
    func `hostile names in addresses are no pages`(_ name: String) async throws {
        try await OperatedCloud.run { test in
            let browser = try await test.browser()
            for path in [
                OperatedCloud.path("schema/types/\(name)"), OperatedCloud.path("schema/roles/\(name)"),
                OperatedCloud.path("schema/remove?type=\(name)"), "/console/people/\(name)",
            ] {
                let page = try await browser.get(path)
                #expect(page.status == 404, "\(path)")
                #expect(!page.shows("<script>alert") && !page.shows("<img"))
            }
        }
    }
}
