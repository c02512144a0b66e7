import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Testing

/// The pages of accounts and of operators' tokens.
@Suite(.timeLimit(.minutes(5))) struct PeopleTests {
    private func account(_ test: OperatedCloud, _ email: String) async throws -> Account {
        try #require(try await test.cloud.accountStore.accounts.account(email: email))
    }

    @Test func `accounts are listed a page at a time, and found by the beginning of their address`() async throws {
        try await OperatedCloud.run { test in
            for number in 10..<70 { try await test.user("user\(number)@example.com") }
            try await test.user("zoe@example.com", name: "<b>Zoe</b>")
            let browser = try await test.browser()
            let first = try await browser.get("/console/people")
            #expect(first.shows("user10@example.com") && first.shows("user59@example.com"))
            #expect(!first.shows("user60@example.com") && first.shows("More accounts"))
            let last = try await account(test, "user59@example.com")
            let second = try await browser.submit("/console/people", [("address", ""), ("after", last.shownID)])
            #expect(second.shows("user60@example.com") && second.shows("zoe@example.com"))
            #expect(!second.shows("user59@example.com") && second.shows("&lt;b&gt;Zoe&lt;/b&gt;"))
            let found = try await browser.submit("/console/people", [("address", " USER1")])
            #expect(found.shows("user19@example.com") && !found.shows("user20@example.com"))
            #expect(try await browser.submit("/console/people", [("address", "nobody")]).shows("No account has"))
        }
    }

    @Test func `an account is shown with its use, roles and quota, without addresses in links`() async throws {
        try await OperatedCloud.run { test in
            let ada = try await test.user("ada@example.com", name: "Ada Example")
            #expect(try await test.save("first", by: ada) == nil)
            try await EditSchema(test.cloud).run(.addRole("editor"), in: OperatedCloud.container)
            try await SetRoles(test.cloud).run(
                "editor", isGiven: true, to: ada, in: OperatedCloud.container, .development)
            let browser = try await test.browser()
            let account = try await account(test, "ada@example.com")
            let list = try await browser.get("/console/people")
            #expect(list.shows("href=\"/console/people/\(account.shownID)\""))
            let page = try await browser.get("/console/people/\(account.shownID)")
            #expect(page.status == 200 && page.shows("Ada Example") && page.shows(ada.recordName))
            #expect(page.shows("editor") && page.shows("5 kB") && page.shows(OperatedCloud.container.name))
            #expect(!page.shows(account.id))
            #expect(try await browser.get("/console/people/\(account.id)").status == 404)
            #expect(try await browser.get("/console/people/000000000000").status == 404)
        }
    }

    @Test func `an account is disabled, enabled, and removed after its address was written`() async throws {
        try await OperatedCloud.run { test in
            let ada = try await test.user("ada@example.com")
            #expect(try await test.save("first", by: ada) == nil)
            let browser = try await test.browser()
            let path = "/console/people/\(try await account(test, "ada@example.com").shownID)"
            #expect(try await browser.submit(path, [("order", "disable")]).shows("The account is disabled"))
            #expect(try await account(test, "ada@example.com").isDisabled)
            _ = try await browser.submit(path, [("order", "enable")])
            #expect(try await !account(test, "ada@example.com").isDisabled)
            let asked = try await browser.get(path + "/remove")
            #expect(asked.shows("development: private records: 1"))
            let wrong = try await browser.submit(
                path + "/remove", [("form", "remove"), ("address", "bob@example.com")])
            #expect(wrong.status == 400 && wrong.shows("id=\"remove-address-error\""))
            let done = try await browser.submit(path + "/remove", [("form", "remove"), ("address", "Ada@example.com")])
            #expect(done.status == 200 && done.shows("with 1 records"))
            #expect(try await test.cloud.accountStore.accounts.account(email: "ada@example.com") == nil)
            let usage = try await MeasureContainer(test.cloud).run(
                OperatedCloud.container, .development, databasesMax: 10)
            #expect(usage.privateRecords == 0)
            #expect(try await browser.get(path).status == 404)
        }
    }

    @Test func `phone numbers are added and removed, and what is wrong with one is said at its field`() async throws {
        try await OperatedCloud.run { test in
            try await test.user("ada@example.com")
            try await test.user("ben@example.com")
            let browser = try await test.browser()
            let path = "/console/people/\(try await account(test, "ada@example.com").shownID)"
            func add(_ number: String, to path: String) async throws -> FormBrowser.Page {
                try await browser.submit(path, [("form", "phone"), ("order", "add-phone"), ("number", number)])
            }
            #expect(try await add("+44 1632 960083", to: path).shows("The phone number is added"))
            #expect(try await account(test, "ada@example.com").phoneNumbers == ["+441632960083"])
            let wrong = try await add("960083", to: path)
            #expect(wrong.status == 400 && wrong.shows("id=\"phone-number-error\""))
            let other = "/console/people/\(try await account(test, "ben@example.com").shownID)"
            #expect(try await add("+441632960083", to: other).shows("Another account has this number"))
            _ = try await browser.submit(path, [("order", "remove-phone"), ("number", "+441632960083")])
            #expect(try await account(test, "ada@example.com").phoneNumbers.isEmpty)
            #expect(test.log.orders.contains { $0["order"] == "accounts/phone/add" && $0["outcome"] == "done" })
            #expect(test.log.orders.allSatisfy { !$0.values.contains { $0.contains("960083") } })
        }
    }

    @Test func `B-ZN-12 keys are reset after the address was written`() async throws {
        try await OperatedCloud.run { test in
            try await test.user("ada@example.com")
            let browser = try await test.browser()
            let path = "/console/people/\(try await account(test, "ada@example.com").shownID)"
            #expect(try await browser.get(path).shows("href=\"\(path)/reset-keys\""))
            #expect(try await browser.get(path + "/reset-keys").shows("unreadable permanently"))
            let before = try await account(test, "ada@example.com").keychainGeneration
            let wrong = try await browser.submit(
                path + "/reset-keys", [("form", "reset-keys"), ("address", "ben@example.com")])
            #expect(wrong.status == 400 && wrong.shows("id=\"reset-keys-address-error\""))
            #expect(try await account(test, "ada@example.com").keychainGeneration == before)
            let done = try await browser.submit(
                path + "/reset-keys", [("form", "reset-keys"), ("address", "Ada@example.com")])
            #expect(done.status == 200 && done.shows("The keys are removed"))
            #expect(try await account(test, "ada@example.com").keychainGeneration == before + 1)
            #expect(test.log.orders.contains { $0["order"] == "accounts/keys/reset" })
        }
    }

    @Test func `a container is made with its first token, by operators of the whole cloud alone`() async throws {
        try await OperatedCloud.run { test in
            let browser = try await test.browser()
            for name in ["", "a b", "<b>"] {
                let page = try await browser.submit(
                    "/console/containers", [("form", "container"), ("container", name)])
                #expect(page.status == 400 && page.shows("id=\"container-container-error\"") && !page.shows("<b>"))
            }
            let fields = [("form", "container"), ("container", "iCloud.com.example.fresh")]
            let made = try await browser.submit("/console/containers", fields)
            #expect(made.status == 200 && made.shows("API token of the container created."))
            let row = try #require(try await test.cloud.accountStore.apiTokens.list().first)
            #expect(row.container == "iCloud.com.example.fresh" && row.environment == "development")
            let page = try await browser.get("/console/containers")
            #expect(page.shows("iCloud.com.example.fresh") && !page.shows("<pre><code>"))
            #expect(try await browser.submit("/console/containers", fields).shows("There is a container of this name"))
            let scoped = try await test.browser(of: OperatedCloud.container)
            let refused = try await scoped.submit(
                "/console/containers", [("form", "container"), ("container", "iCloud.com.example.other2")])
            #expect(refused.status == 404)
            #expect(try await !scoped.get("/console/containers").shows("New container"))
            #expect(try await test.cloud.accountStore.apiTokens.list().count == 1)
        }
    }

    @Test func `an account gets the role of an operator, and loses it`() async throws {
        try await OperatedCloud.run { test in
            try await test.user("ada@example.com")
            let browser = try await test.browser()
            let path = "/console/people/\(try await account(test, "ada@example.com").shownID)"
            func role() async throws -> OperatorAccount? {
                try await test.cloud.accountStore.operatorAccounts.list().first?.role
            }
            for name in ["", "a b", "<b>"] {
                let page = try await browser.submit(
                    path, [("form", "operator"), ("order", "operator"), ("scope", "container"), ("container", name)])
                #expect(page.status == 400 && page.shows("id=\"operator-container-error\"") && !page.shows("<b>"))
            }
            #expect(try await role() == nil)
            let one = try await browser.submit(
                path,
                [
                    ("form", "operator"), ("order", "operator"), ("scope", "container"),
                    ("container", OperatedCloud.container.name),
                ])
            #expect(one.shows("of \(OperatedCloud.container.name)."))
            #expect(try await role()?.container == OperatedCloud.container.name)
            _ = try await browser.submit(path, [("form", "operator"), ("order", "operator"), ("scope", "all")])
            let all = try await role()
            #expect(all != nil && all?.container == nil)
            _ = try await browser.submit(path, [("form", "operator"), ("order", "operator"), ("scope", "none")])
            #expect(try await role() == nil)
        }
    }

    @Test func `a device is signed out by its whole id alone`() async throws {
        try await OperatedCloud.run { test in
            try await test.user("ada@example.com")
            let account = try await account(test, "ada@example.com")
            let sessions = test.cloud.accountStore.sessions
            let token = try await test.cloud.accountStore.apiTokens.create(
                container: OperatedCloud.container, environment: .development, name: "")
            let browser = try await test.browser()
            let signedIn = try await browser.send(
                "POST",
                "/device/1/\(OperatedCloud.container.name)/development/sessions/create?ckAPIToken=\(token.token)",
                #"{"email":"ada@example.com","proof":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=","deviceName":"<i>phone</i>","lifetime":"device"}"#
            )
            #expect(signedIn.status == 200)
            let session = try #require(try await sessions.sessions(of: account).first)
            let path = "/console/people/\(account.shownID)"
            let page = try await browser.get(path)
            #expect(page.shows("&lt;i&gt;phone&lt;/i&gt;") && !page.shows("<i>"))
            let partial = try await browser.submit(
                path, [("order", "sign-out"), ("device", String(session.id.prefix(4)))])
            #expect(partial.status == 400 && partial.shows("no such device"))
            let done = try await browser.submit(path, [("order", "sign-out"), ("device", session.id)])
            #expect(done.status == 200 && done.shows("is signed out."))
            #expect(try await sessions.sessions(of: account).isEmpty)
        }
    }

    @Test func `an operator's token is shown once, reaches its container alone, and is revoked`() async throws {
        try await OperatedCloud.run { test in
            let browser = try await test.browser()
            test.time.advance(1000)
            let path = "/console/operators"
            let made = try await browser.submit(
                path, [("form", "create"), ("name", "Bob"), ("container", OperatedCloud.container.name)])
            let rows = try await test.cloud.accountStore.operatorTokens.list()
            let row = try #require(rows.last)
            #expect(row.container == OperatedCloud.container.name && row.name == "Bob")
            let start = try #require(made.body.firstRange(of: "<pre><code>"))
            let token = String(made.body[start.upperBound...].prefix { $0 != "<" })
            guard case .good(let shown) = try await test.cloud.accountStore.operatorTokens.standing(of: token) else {
                Issue.record("the token that is shown is not one")
                return
            }
            #expect(shown.id == row.id)
            #expect(try await !browser.get(path).shows(token))
            #expect(test.log.orders.allSatisfy { !$0.values.contains { $0.contains(token) } })

            for fields in [[("container", "a b")], [("name", String(repeating: "x", count: 101))]] {
                let page = try await browser.submit(path, [("form", "create")] + fields)
                #expect(page.status == 400 && page.shows("aria-invalid=\"true\""))
            }
            _ = try await browser.submit(path, [("order", "revoke"), ("token", row.id)])
            #expect(try await test.cloud.accountStore.operatorTokens.list().last?.isRevoked == true)
            // One's own is asked about.
            let own = try #require(rows.first)
            let asked = try await browser.submit(path, [("order", "revoke"), ("token", own.id)])
            #expect(asked.shows("Revoke your own token"))
            #expect(try await test.cloud.accountStore.operatorTokens.list().first?.isRevoked == false)
            let token2 = try #require(asked.formToken)
            let gone = try await browser.submit(
                path, [("order", "revoke"), ("token", own.id), ("confirmed", "yes")], token: token2)
            #expect(try await test.cloud.accountStore.operatorTokens.list().first?.isRevoked == true)
            #expect(gone.status == 404 || gone.shows("Sign in"))
        }
    }
}
