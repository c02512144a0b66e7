import CloudKitAccounts
import CloudKitLogs
import CloudKitModel
import CloudKitSchema
import CloudKitServer
import Testing

/// The pages of records.
@Suite(.timeLimit(.minutes(20))) struct DataTests {
    private static func field(_ name: String, _ value: FieldValue) throws -> Field {
        try Field(name: name, value: value)
    }

    /// The form of a first statement, which only devices make.
    private static let statement: [UInt8] =
        [1, 0, 0, 0, 0, 0, 0, 0, 1] + Array(StatementForm.noTag) + [UInt8](repeating: 0, count: 10)
        + [UInt8](repeating: 1, count: 28)

    private static func query(_ fields: [(String, String)]) -> [(String, String)] { [("type", "City")] + fields }

    @Test func `a query finds what the API finds, in order and in pages`() async throws {
        try await ConsoleCloud.run { cloud in
            for number in 0..<25 {
                try await cloud.save(
                    "city-\(10 + number)", "City",
                    [
                        try Self.field("name", .string("Name \(number)")),
                        try Self.field("population", .int64(Int64(number))),
                        try Self.field("capital", .reference(ReferenceValue(recordName: "city-10"))),
                    ])
            }
            let browser = try await cloud.signedIn()
            let path = ConsoleCloud.path("data/query")
            let fields = Self.query([
                ("filter-field-0", "population"), ("filter-comparator-0", "GREATER_THAN"), ("filter-value-0", "3"),
                ("sort-field-0", "population"), ("sort-order-0", "descending"), ("limit", "20"),
            ])
            let first = try await browser.post(path, fields)
            #expect(first.status == 200)
            #expect(first.text.contains("city-34") && !first.text.contains("city-14"))
            let start = try #require(first.text.firstRange(of: "city-34")?.lowerBound)
            let end = try #require(first.text.firstRange(of: "city-15")?.lowerBound)
            #expect(start < end)
            let marker = try #require(first.hidden("marker").first)
            let second = try await browser.post(path, fields + [("marker", marker)])
            #expect(second.text.contains("city-14") && !second.text.contains("city-13<"))
            #expect(second.hidden("marker").isEmpty)
            let found = try await browser.post(
                path,
                Self.query([
                    ("filter-field-0", "name"), ("filter-comparator-0", "IN"), ("filter-value-0", "Name 3\nName 4"),
                    ("filter-field-1", "capital"), ("filter-comparator-1", "EQUALS"), ("filter-value-1", "city-10"),
                ]))
            #expect(found.text.contains("city-13") && found.text.contains("city-14") && !found.text.contains("city-15"))
        }
    }

    @Test(arguments: [
        (["filter-field-0": "population", "filter-value-0": "many"], "the value of population cannot be read"),
        (
            ["filter-field-0": "population", "filter-comparator-0": "BEGINS_WITH", "filter-value-0": "1"],
            "cannot be queried"
        ),
        (["filter-field-0": "nothing", "filter-value-0": "1"], "nothing"),
        (["type": "Nothing"], "Did not find record type"),
        (["zone": "Nowhere"], "Zone does not exist"),
        (["marker": "x"], "Invalid continuation marker"),
        (
            ["filter-field-0": "population", "filter-comparator-0": "SOUNDS_LIKE", "filter-value-0": "1"],
            "Unexpected input"
        ),
    ])
    func `errors of a query are those of the API`(_ fields: [String: String], _ reason: String) async throws {
        try await ConsoleCloud.run { cloud in
            try await cloud.save("city", "City", [try Self.field("population", .int64(1))])
            let browser = try await cloud.signedIn()
            var fields = fields
            fields["type"] = fields["type"] ?? "City"
            let answer = try await browser.post(ConsoleCloud.path("data/query"), fields.map { ($0.key, $0.value) })
            #expect(answer.status == 200)
            #expect(answer.text.contains("role=\"alert\""))
            #expect(answer.content.contains(reason))
        }
    }

    @Test func `a private database is found by its user's address, without the address in a link`() async throws {
        try await ConsoleCloud.run { cloud in
            let ada = try await cloud.user("ada@example.com")
            try await cloud.makeZone("Notes", of: ada)
            _ = try await cloud.user("zoe@example.com", in: ConsoleCloud.otherContainer)
            let browser = try await cloud.signedIn(container: ConsoleCloud.container)
            for page in ["data", "zones"] {
                let path = ConsoleCloud.path(page)
                for person in [" Ada@example.com ", ada.recordName] {
                    let found = try await browser.post(path, [("form", "person"), ("person", person)])
                    #expect(found.status == 303)
                    #expect(found.headers["location"]?.contains("user=\(ada.recordName)") == true)
                    #expect(found.headers["location"]?.contains("example.com/") == false)
                }
                // Who has an account, but not here, and who has none at all, look the same.
                for person in ["zoe@example.com", "nobody@example.com"] {
                    let answer = try await browser.post(path, [("form", "person"), ("person", person)])
                    #expect(answer.status == 400)
                    #expect(answer.content.contains("No user of this container has this address"))
                }
                #expect(try await browser.post(path, [("form", "person"), ("person", "")]).status == 400)
            }
            let zoe = try #require(try await cloud.accounts.accounts.account(email: "zoe@example.com"))
            #expect(try await cloud.accounts.userNames.knownName(of: zoe.id, in: ConsoleCloud.container) == nil)
        }
    }

    @Test func `the page of a record has the requests and orders that named it`() async throws {
        let requests = MemoryLogStore()
        let buffer = LogBuffer()
        try await ConsoleCloud.run(requests: requests, requestLog: buffer) { cloud in
            let ada = try await cloud.user("ada@example.com")
            try await cloud.makeZone("Notes", of: ada)
            try await cloud.save("settings", "Note", zone: "Notes", user: ada)
            let pseudonyms = cloud.cloud.serverEnvironment.recordPseudonyms
            func entry(_ operation: String, owner: String, at time: Int64) -> LogEntry {
                var entry = LogEntry(
                    id: LogID(milliseconds: time, random: (1, UInt64(time))), kind: .request, operation: operation)
                entry.container = ConsoleCloud.container.name
                entry.environment = "development"
                entry.user = ada.recordName
                entry.setRecords([pseudonyms.pseudonym(of: "settings", zone: "Notes", owner: owner)])
                return entry
            }
            let now = cloud.clock.now
            requests.append(
                [
                    entry("changes/before", owner: ada.recordName, at: now - 86_400_000),
                    entry("records/modify", owner: ada.recordName, at: now),
                    entry("records/lookup", owner: "_ben", at: now),
                ], telemetry: [])
            let browser = try await cloud.signedIn(container: ConsoleCloud.container)
            let path = ConsoleCloud.path("data/record?user=\(ada.recordName)&zone=Notes&name=settings")
            let page = try await browser.get(path)
            #expect(page.status == 200 && page.text.contains("records/modify"))
            #expect(!page.text.contains("records/lookup") && !page.text.contains("changes/before"))
            // An order of an operator names its record, too.
            try await cloud.save("city")
            let outline = try await browser.get(ConsoleCloud.path("data/edit?name=city"))
            _ = buffer.take()
            let changed = try await browser.post(
                ConsoleCloud.path("data/edit"),
                [("name", "city"), ("type", "City")] + outline.hidden("tag").map { ("tag", $0) })
            #expect(changed.status == 303 || changed.status == 200)
            requests.append(buffer.take().entries, telemetry: [])
            let city = try await browser.get(ConsoleCloud.path("data/record?name=city"))
            #expect(city.text.contains("data/save"))
            #expect(requests.all.filter { $0.operation == "site" }.allSatisfy { $0.kind == .operatorAction })
        }
    }

    @Test func `B-QRY-15 a missing index comes with the button that adds it, in development`() async throws {
        try await ConsoleCloud.run { cloud in
            try await cloud.save("city", "City", [try Self.field("population", .int64(1))])
            let browser = try await cloud.signedIn()
            let path = ConsoleCloud.path("data/query")
            let refused = try await browser.post(path, [("type", "City")])
            #expect(refused.content.contains("Field 'recordName' is not marked queryable"))
            #expect(
                refused.content.contains(
                    "welkin schema index \(ConsoleCloud.container.name) City recordName --queryable"))
            #expect(refused.hidden("key") == ["recordName"])
            let made = try await browser.post(
                ConsoleCloud.path("data/index"), [("type", "City"), ("key", "recordName"), ("index", "queryable")])
            #expect(made.status == 303)
            try await FinishIndexBuilds(cloud.cloud).runWaiting()
            #expect(try await browser.post(path, [("type", "City")]).text.contains("name=city"))
            #expect(cloud.log.orders.last?["order"] == "schema/index")
            let production = try await browser.post(
                "/console/containers/\(ConsoleCloud.container.name)/production/data/index",
                [("type", "City"), ("key", "recordName"), ("index", "queryable")])
            #expect(production.status == 403)
        }
    }

    @Test func `queries of operators do not count as requests that a deployment must keep`() async throws {
        try await ConsoleCloud.run { cloud in
            try await cloud.save("city", "City", [try Self.field("population", .int64(1))])
            let browser = try await cloud.signedIn()
            _ = try await browser.post(ConsoleCloud.path("data/query"), [("type", "City")])
            let report = try await DeploySchema(cloud.cloud).report(on: ConsoleCloud.container)
            #expect(!report.findings.contains { $0.text.contains("recordName") })
        }
    }

    @Test func `a record is created, changed and deleted, and conflicts are told`() async throws {
        try await ConsoleCloud.run { cloud in
            let browser = try await cloud.signedIn()
            let edit = ConsoleCloud.path("data/edit")
            let created = try await browser.post(
                edit,
                [
                    ("type", "City"), ("name", "berlin"), ("field-name-0", "name"), ("field-type-0", "STRING"),
                    ("field-value-0", "Bär & Co"), ("field-name-1", "population"), ("field-type-1", "INT64"),
                    ("field-value-1", "3"), ("field-name-2", "tags"), ("field-type-2", "STRING_LIST"),
                    ("field-value-2", "[\"a\", \"b\"]"),
                ])
            #expect(created.status == 303)
            let page = try await browser.get(ConsoleCloud.path("data/record?name=berlin"))
            #expect(page.content.contains("Bär & Co") && page.content.contains("The record is saved."))
            #expect(!(try await browser.get(ConsoleCloud.path("data/record?name=berlin"))).content.contains("is saved"))
            let tag = try #require(try await browser.get(edit + "?name=berlin").hidden("tag").first)
            let change: [(String, String)] = [
                ("name", "berlin"), ("type", "City"), ("tag", tag), ("field-name-0", "name"),
                ("field-type-0", "STRING"),
                ("field-value-0", "Berlin"), ("field-name-1", "tags"), ("field-type-1", "STRING_LIST"),
                ("field-value-1", "[\"a\",\"b\"]"), ("field-removed-1", "on"),
            ]
            #expect(try await browser.post(edit, change).status == 303)
            let changed = try await browser.get(ConsoleCloud.path("data/record?name=berlin"))
            #expect(changed.content.contains("Berlin") && !changed.content.contains("STRING_LIST"))
            #expect(changed.content.contains("INT64"))
            let conflict = try await browser.post(edit, change)
            #expect(conflict.status == 409)
            #expect(conflict.content.contains("oplock"))
            #expect(conflict.text.contains("Berlin"))
            let bad = try await browser.post(
                edit,
                [("type", "City"), ("field-name-0", "place"), ("field-type-0", "LOCATION"), ("field-value-0", "{}} ,")])
            #expect(bad.status == 400)
            #expect(bad.content.contains("the value of place cannot be read"))
            let delete = ConsoleCloud.path("data/delete")
            let newest = try #require(try await browser.get(delete + "?name=berlin").hidden("tag").first)
            #expect(try await browser.post(delete, [("name", "berlin"), ("tag", tag)]).status == 409)
            #expect(try await browser.post(delete, [("name", "berlin"), ("tag", newest)]).status == 303)
            #expect(try await browser.get(ConsoleCloud.path("data/record?name=berlin")).status == 404)
            #expect(
                cloud.log.orders.map { $0["order"] } == [
                    "data/save", "data/save", "data/save", "data/delete", "data/delete",
                ])
            #expect(!cloud.log.text.contains("Bär"))
        }
    }

    @Test func `B-DB-06 grants do not hold operators`() async throws {
        try await ConsoleCloud.run { cloud in
            let user = try await cloud.user()
            let address = DatabaseAddress(
                container: ConsoleCloud.container, environment: .development, scope: .public)
            _ = try await ModifyRecords(cloud.cloud).run(
                ModifyRecordsRequest(
                    operations: [
                        RecordOperation(
                            .create,
                            RecordChange(
                                recordName: "closed", recordType: "Closed",
                                fields: [.set(try Self.field("text", .string("hidden text")))]))
                    ], zoneID: .default), in: address, by: Caller(user: user))
            try await SetGrants(cloud.cloud).run([], ofType: "Closed", in: ConsoleCloud.container, .development)
            let browser = try await cloud.signedIn()
            #expect(try await browser.get(ConsoleCloud.path("data/record?name=closed")).content.contains("hidden text"))
        }
    }

    @Test func `texts from outside stay texts on every page`() async throws {
        try await ConsoleCloud.run { cloud in
            let hostile = "<img src=x onerror=alert(1)>\"'&amp;"
            let user = try await cloud.user()
            try await cloud.save(
                "r\(hostile)", "City",
                [
                    try Self.field("text", .string(hostile)),
                    try Self.field("list", .list(.string, [.string(hostile)])),
                    try Self.field("link", .reference(ReferenceValue(recordName: "r\(hostile)"))),
                ])
            try await cloud.makeZone("Zone & <b>", of: user)
            try await cloud.save("r\(hostile)", "Note", zone: "Zone & <b>", user: user)
            let browser = try await cloud.signedIn()
            let name = "name=\("r\(hostile)".formEncoded)"
            let zone = "user=\(user.recordName)&zone=\("Zone & <b>".formEncoded)"
            for path in [
                "data/records", "data/record?\(name)", "data/edit?\(name)", "data/delete?\(name)",
                "data/query?type=\(hostile.formEncoded)", "data?user=\(hostile.formEncoded)",
                "data?user=\(user.recordName)", "data/records?\(zone)", "data/record?\(zone)&\(name)",
                "zones?user=\(user.recordName)", "zones/zone?\(zone)", "zones/purge?\(zone)",
                "data/record?name=\(hostile.formEncoded)",
            ] {
                let answer = try await browser.get(ConsoleCloud.path(path))
                #expect(!answer.text.contains("<img"), "\(path)")
                #expect(!answer.text.contains("<b>"), "\(path)")
                #expect(!answer.text.contains("\"'&amp;amp"), "\(path)")
            }
            let results = try await browser.post(
                ConsoleCloud.path("data/query"),
                [("type", "City"), ("filter-field-0", "text"), ("filter-value-0", hostile)])
            #expect(results.text.contains("1 record") && !results.text.contains("<img"))
        }
    }

    @Test func `private data shows its structure, and values with consent alone`() async throws {
        try await ConsoleCloud.run { cloud in
            let user = try await cloud.user()
            let canary = "canary-4711"
            try await cloud.makeZone("Notes", of: user)
            try await cloud.save("note", "Note", [try Self.field("title", .string(canary))], zone: "Notes", user: user)
            let browser = try await cloud.signedIn()
            let owner = "user=\(user.recordName)"
            let pages = [
                "data?\(owner)", "data/records?\(owner)&zone=Notes", "data/record?\(owner)&zone=Notes&name=note",
                "zones?\(owner)", "zones/zone?\(owner)&zone=Notes", "data/query?\(owner)&type=Note",
                "data/edit?\(owner)&zone=Notes&name=note", "data/delete?\(owner)&zone=Notes&name=note",
            ]
            for page in pages {
                let answer = try await browser.get(ConsoleCloud.path(page))
                #expect(!answer.text.contains(canary), "\(page)")
            }
            let record = try await browser.get(ConsoleCloud.path(pages[2]))
            #expect(
                record.content.contains("title") && record.content.contains("STRING")
                    && record.content.contains("not shown"))
            let query = [("user", user.recordName), ("type", "Note"), ("zone", "Notes")]
            #expect(try await browser.post(ConsoleCloud.path("data/query"), query).status == 403)
            #expect(try await browser.post(ConsoleCloud.path("data/edit"), query + [("name", "note")]).status == 403)

            let account = try #require(try await cloud.accounts.accounts.account(email: "ada@example.com")).id
            let consents = cloud.accounts.consoleConsents
            func consent(_ environment: Environment = .development, changes: Bool = false) async throws -> String {
                try await consents.create(
                    account: account, container: ConsoleCloud.container, environment: environment, lifetime: 3_600_000,
                    allowsChanges: changes
                ).token
            }
            func show(_ token: String) async throws -> Int {
                try await browser.post(
                    ConsoleCloud.path("data/consent"), [("user", user.recordName), ("token", token)]
                ).status
            }
            #expect(try await show("x") == 403)
            #expect(try await show(try await consent(.production)) == 403)
            let other = try await cloud.user("grace@example.com")
            let token = try await consent()
            let wrongUser = try await browser.post(
                ConsoleCloud.path("data/consent"), [("user", other.recordName), ("token", token)])
            #expect(wrongUser.status == 403)
            #expect(try await show(token) == 303)
            #expect(try await browser.get(ConsoleCloud.path(pages[2])).content.contains(canary))
            // A consent is of the session in which it was shown, and for reading unless it says more.
            #expect(!(try await cloud.signedIn().get(ConsoleCloud.path(pages[2]))).content.contains(canary))
            #expect(try await browser.get(ConsoleCloud.path("data/edit?\(owner)&zone=Notes&name=note")).status == 403)
            #expect(try await show(try await consent(changes: true)) == 303)
            #expect(try await browser.get(ConsoleCloud.path("data/edit?\(owner)&zone=Notes&name=note")).status == 200)
            #expect(
                !(try await browser.get(ConsoleCloud.path("data?user=\(other.recordName)"))).content.contains(
                    "Shown with the consent"))
            _ = try await consents.revoke(nil, account: account)
            #expect(!(try await browser.get(ConsoleCloud.path(pages[2]))).content.contains(canary))
            #expect(try await show(try await consent()) == 303)
            cloud.clock.advance(3_600_000)
            #expect(!(try await browser.get(ConsoleCloud.path(pages[2]))).content.contains(canary))
            #expect(!cloud.log.text.contains(canary) && !cloud.log.text.contains(token))
        }
    }

    @Test func `sealed values are shown as sealed, with their size`() async throws {
        try await ConsoleCloud.run { cloud in
            let user = try await cloud.user()
            try await cloud.makeZone("Notes", of: user)
            let sealed = Field(
                name: "secret", type: .string, sealed: [1, 0, 0, 0, 0] + [UInt8](repeating: 9, count: 2995))
            let address = DatabaseAddress(
                container: ConsoleCloud.container, environment: .development, scope: .private)
            let change = RecordChange(
                recordName: "sealed", recordType: "Diary", fields: [.set(sealed)],
                protection: Protection(epoch: 0, keys: [1], statement: Self.statement))
            let outcome = try await ModifyRecords(cloud.cloud).run(
                ModifyRecordsRequest(operations: [RecordOperation(.create, change)], zoneID: ZoneID(zoneName: "Notes")),
                in: address, by: Caller(user: user, surface: .native)
            ).first
            guard case .record? = outcome else {
                Issue.record("not saved: \(String(describing: outcome))")
                return
            }
            let account = try #require(try await cloud.accounts.accounts.account(email: "ada@example.com")).id
            let token = try await cloud.accounts.consoleConsents.create(
                account: account, container: ConsoleCloud.container, environment: .development, lifetime: 3_600_000,
                allowsChanges: true
            ).token
            let browser = try await cloud.signedIn()
            let path = ConsoleCloud.path("data/record?user=\(user.recordName)&zone=Notes&name=sealed")
            for _ in 0..<2 {
                let page = try await browser.get(path)
                #expect(page.content.contains("sealed") && page.content.contains("3 kB"))
                #expect(!page.text.contains("CQkJCQkJ"))
                _ = try await browser.post(
                    ConsoleCloud.path("data/consent"), [("user", user.recordName), ("token", token)])
            }
            let edit = try await browser.get(
                ConsoleCloud.path("data/edit?user=\(user.recordName)&zone=Notes&name=sealed"))
            #expect(edit.content.contains("Not changed here"))
        }
    }
}
