import CloudKitHTTP
import CloudKitLogs
import CloudKitLogsSQLite
import Foundation
import Testing

/// The entries that requests leave in the log.
@Suite(.timeLimit(.minutes(5)))
struct RequestLogTests {
    @Test func `a request is logged under the identifier that its answer shows`() async throws {
        let buffer = LogBuffer()
        try await TestCloud.run(requestLog: buffer) { cloud in
            let tokens = try await cloud.signIn()
            _ = buffer.take()
            let operation = "0198F3A2-1111-4222-8333-444455556666"
            let answer = try await cloud.client.post(
                TestCloud.target("records/modify", "private", tokens),
                #"{"operations":[{"operationType":"create","record":{"recordType":"Note","recordName":"R1"}}]}"#,
                headers: [
                    "X-Welkin-Client": "sdk/1", "X-Welkin-Operation": operation,
                    "X-Welkin-Operation-Group": operation, "X-Welkin-Operation-Group-Name": "First%20import",
                ])
            #expect(answer.status == 200)
            let entry = try #require(buffer.take().entries.first)
            #expect(entry.id.description == answer.headers["x-apple-request-uuid"])
            #expect(entry.time == cloud.clock.now)
            #expect(entry.kind == .request && entry.operation == "records/modify" && entry.status == 200)
            #expect(entry.container == TestCloud.container && entry.environment == "development")
            #expect(entry.database == "private" && entry.zone == "_defaultZone" && entry.recordType == "Note")
            #expect(entry.user?.hasPrefix("_") == true && entry.device != nil && entry.client == "sdk")
            #expect(entry.operationID == LogID(operation) && entry.group == LogID(operation))
            #expect(entry.groupName == "First import")
            #expect(entry.bytesIn > 0 && entry.bytesOut > 0 && entry.itemsIn == 1 && entry.itemsOut == 1)
            #expect(entry.microseconds > 0 && entry.code == nil && entry.details == nil)
        }
    }

    @Test func `the requests that named a record are found by its pseudonym, and its name is not in them`() async throws
    {
        let buffer = LogBuffer()
        try await TestCloud.run(requestLog: buffer) { cloud in
            let tokens = try await cloud.signIn()
            _ = buffer.take()
            let save =
                #"{"operations":[{"operationType":"create","record":{"recordType":"Note","recordName":"R1"}},{"operationType":"create","record":{"recordType":"Note","recordName":"R2"}}]}"#
            _ = try await cloud.client.post(TestCloud.target("records/modify", "private", tokens), save)
            for name in ["R1", "R3"] {
                _ = try await cloud.client.post(
                    TestCloud.target("records/lookup", "private", tokens),
                    #"{"records":[{"recordName":"\#(name)"}]}"#)
            }
            let entries = buffer.take().entries
            let user = try #require(entries.first?.user)
            let pseudonyms = cloud.accountStore.serverEnvironment.recordPseudonyms
            func operations(naming name: String) -> [String] {
                var filter = LogFilter()
                filter.record = pseudonyms.pseudonym(of: name, zone: "_defaultZone", owner: user)
                return entries.filter { filter.matches($0) }.map(\.operation)
            }
            #expect(operations(naming: "R1") == ["records/modify", "records/lookup"])
            #expect(operations(naming: "R2") == ["records/modify"])
            #expect(operations(naming: "R3") == ["records/lookup"])
            #expect(operations(naming: "R4") == [])
            var writer = EntryWriter()
            entries[0].write(to: &writer)
            #expect(!String(decoding: writer.bytes, as: UTF8.self).contains("R1"))
        }
    }

    @Test func `with a buffer the lines of requests are made by its writer`() async throws {
        let buffer = LogBuffer()
        try await TestCloud.run(requestLog: buffer) { cloud in
            let answer = try await cloud.client.get("/nowhere")
            #expect(!cloud.log.lines.contains { $0.message == "request" })
            let line = try #require(buffer.take().reports.compactMap { $0.makeLine() }.last)
            #expect(line.message == "request" && line.level == .info && line.time == cloud.clock.now)
            #expect(line.values.map(\.name) == line.values.map(\.name).sorted())
            #expect(line.values.contains(ReportLine.Value("status", "\(answer.status)")))
        }
    }

    @Test func `failures name the item, its type, the reason and the remedy`() async throws {
        let buffer = LogBuffer()
        try await TestCloud.run(requestLog: buffer) { cloud in
            let tokens = try await cloud.signIn()
            _ = buffer.take()
            let save =
                #"{"operations":[{"operationType":"create","record":{"recordType":"Note","recordName":"R1"}}]}"#
            for _ in 0..<2 {
                _ = try await cloud.client.post(TestCloud.target("records/modify", "private", tokens), save)
            }
            let conflict = try #require(buffer.take().entries.last)
            #expect(conflict.status == 200 && conflict.itemsFailed == 1)
            let failure = try #require(conflict.details?.failures.first)
            #expect(failure.item == "R1" && failure.recordType == "Note" && failure.code == conflict.code)
            #expect(!failure.reason.isEmpty)
            _ = try await cloud.client.post(
                TestCloud.target("records/query", "private", tokens),
                #"{"query":{"recordType":"Nothing"},"zoneID":{"zoneName":"_defaultZone"}}"#)
            let query = try #require(buffer.take().entries.last)
            #expect(query.status == 404 && query.recordType == "Nothing" && query.code == "typeNotFound")
            #expect(query.details?.failures.first?.recordType == "Nothing")
            #expect(query.details?.failures.first?.item == nil)
        }
    }

    @Test func `zones that cannot be changed or found are among the failures of their request`() async throws {
        let buffer = LogBuffer()
        try await TestCloud.run(requestLog: buffer) { cloud in
            let tokens = try await cloud.signIn()
            for (path, body) in [
                (
                    "zones/modify",
                    #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"A"}}},{"operationType":"delete","zone":{"zoneID":{"zoneName":"_defaultZone"}}}]}"#
                ), ("zones/lookup", #"{"zones":[{"zoneName":"A"},{"zoneName":"None"}]}"#),
            ] {
                _ = buffer.take()
                #expect(try await cloud.client.post(TestCloud.target(path, "private", tokens), body).status == 200)
                let entry = try #require(buffer.take().entries.first)
                #expect(entry.operation == path && entry.zone == "A" && entry.itemsOut == 2 && entry.itemsFailed == 1)
                let failures = try #require(entry.details?.failures)
                #expect(failures.map(\.item) == [path == "zones/modify" ? "_defaultZone" : "None"])
                #expect(failures.map(\.code) == [entry.code] && failures[0].reason.isEmpty == false)
            }
        }
    }

    @Test func `sign-ins, faults and operators' orders have kinds of their own; monitoring leaves no entries`()
        async throws
    {
        let buffer = LogBuffer()
        try await TestCloud.run(requestLog: buffer) { cloud in
            var tokens = try await cloud.signIn()
            let signIn = try #require(buffer.take().entries.last)
            #expect(signIn.kind == .signIn && signIn.operation == "sessions/create" && signIn.status == 200)
            #expect(signIn.user?.hasPrefix("_") == true)
            let refused = try await cloud.client.post(
                TestCloud.sessions("create", tokens),
                #"{"email":"ada@example.com","proof":"AAAA","deviceName":"Test","lifetime":"device"}"#)
            #expect(refused.status == 401)
            let failed = try #require(buffer.take().entries.last)
            #expect(failed.kind == .signIn && failed.code == "authenticationFailed" && failed.user == nil)
            let token = try await cloud.operatorToken()
            let order = try await cloud.client.post(
                "/admin/1/\(TestCloud.container)/development/faults/order", #"{"kind":"throttle","seconds":20}"#,
                headers: ["Authorization": "Bearer " + token])
            #expect(order.status == 200)
            let action = try #require(buffer.take().entries.last)
            #expect(action.kind == .operatorAction && action.details?.attributes["order"] == "faults/order")
            #expect(action.details?.attributes["operator"]?.isEmpty == false)
            #expect(action.details?.attributes["kind"] == "throttle")
            #expect(try await cloud.client.post(TestCloud.target("zones/list", "private", tokens), "{}").status == 429)
            let struck = try #require(buffer.take().entries.last)
            #expect(struck.kind == .fault && struck.isThrottled && struck.retryAfter == 20)
            for path in ["/health", "/metrics"] { _ = try await cloud.client.get(path) }
            #expect(buffer.take().entries.isEmpty)
            tokens.web = nil
        }
    }

    @Test func `no value that a client sends is in a byte of the log`() async throws {
        let path = FileManager.default.temporaryDirectory.path + "/welkin-canary-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let store = try SQLiteLogStore(path: path + "/logs.sqlite")
        let buffer = LogBuffer()
        let secrets = Canaries()
        try await TestCloud.run(requestLog: buffer) { cloud in
            try await secrets.send(to: cloud)
            let writer = LogWriter(buffer: buffer, store: store, retention: LogRetention(), now: { 0 }) { _ in }
            await writer.write()
            #expect(try await store.size().rows > 25)
            #expect(
                try await store.entries(LogFilter(), before: nil, limit: 1000).items.contains { $0.entry.code != nil })
        }
        // Also the form of entries that have aged, in blocks.
        var filler = LogEntry(id: LogID(high: 0, low: 0), kind: .request, operation: "filler")
        filler.status = 200
        for _ in 0..<5 { try await store.append([LogEntry](repeating: filler, count: 1000), telemetry: []) }
        var bytes: [UInt8] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            bytes += try Data(contentsOf: URL(fileURLWithPath: path + "/" + name))
        }
        let text = String(decoding: bytes, as: UTF8.self).lowercased()
        #expect(text.contains("records/modify"))
        for canary in secrets.forms { #expect(!text.contains(canary.lowercased()), "\(canary)") }
    }
}

/// Values that no log may have, in every place where a client can put one.
private struct Canaries: Sendable {
    /// What is looked for: the value, and the forms in which it may travel.
    var forms: [String] {
        let value = "kanarienvogel"
        let encoded = Data(value.utf8).base64EncodedString()
        return [
            value, String(encoded.prefix(16)), Data(value.utf8).map { String($0, radix: 16) }.joined(), "4815162342",
            "47.1108",
        ]
    }

    /// Sends values in fields of every kind, good and malformed, in queries, titles, names of people, credentials and headers.
    func send(to cloud: TestCloud) async throws {
        let bytes = Data("kanarienvogel".utf8).base64EncodedString()
        let tokens = try await cloud.signIn(email: "kanarienvogel@example.com")
        let modify = TestCloud.target("records/modify", "private", tokens)
        let values = [
            #"{"value":"kanarienvogel"}"#, #"{"value":4815162342}"#, #"{"value":4815162342.5,"type":"DOUBLE"}"#,
            #"{"value":"\#(bytes)","type":"BYTES"}"#, #"{"value":["kanarienvogel","b"]}"#,
            #"{"value":{"latitude":47.1108,"longitude":8}}"#, #"{"value":4815162342,"type":"TIMESTAMP"}"#,
            #"{"value":{"recordName":"other","action":"NONE"}}"#,
            // Malformed, of the wrong type, and sealed without keys.
            #"{"value":"kanarienvogel","type":"INT64"}"#, #"{"value":"kanarienvogel","type":"kanarienvogel"}"#,
            #"{"value":{"kanarienvogel":1}}"#, #"{"value":"kanarienvogel","type":"ENCRYPTED_STRING"}"#,
            #"{"value":"kanarienvogel","type":"STRING","isEncrypted":true}"#, #"{"value":kanarienvogel}"#,
            #"{"value":{"fileChecksum":"kanarienvogel","size":1,"receipt":"kanarienvogel"},"type":"ASSETID"}"#,
        ]
        for (index, value) in values.enumerated() {
            for client in ["web", "sdk/1"] {
                // The field exists with another type at the second time.
                _ = try await cloud.client.post(
                    modify,
                    #"{"operations":[{"operationType":"forceUpdate","record":{"recordType":"Note","recordName":"R\#(index % 3)","fields":{"f\#(index % 4)":\#(value)}}}]}"#,
                    headers: [
                        "X-Welkin-Client": client, "User-Agent": "kanarienvogel", "Referer": "http://kanarienvogel/",
                    ])
            }
        }
        _ = try await cloud.client.post(
            modify,
            #"{"operations":[{"operationType":"create","record":{"recordType":"cloudkit.share","recordName":"S","fields":{"cloudkit.title":{"value":"kanarienvogel"}}}}]}"#
        )
        for filter in ["EQUALS", "BEGINS_WITH", "CONTAINS_ALL_TOKENS"] {
            _ = try await cloud.client.post(
                TestCloud.target("records/query", "private", tokens),
                #"{"query":{"recordType":"Note","filterBy":[{"comparator":"\#(filter)","fieldName":"f0","fieldValue":{"value":"kanarienvogel"}}]}}"#
            )
        }
        _ = try await cloud.client.post(
            TestCloud.target("changes/zone", "private", tokens),
            #"{"zones":[{"zoneID":{"zoneName":"_defaultZone"},"syncToken":"kanarienvogel"}]}"#)
        _ = try await cloud.client.post(
            TestCloud.target("users/lookup/email", "public", tokens),
            #"{"users":[{"emailAddress":"kanarienvogel@example.com"}]}"#)
        for body in [
            #"{"email":"kanarienvogel@example.com"}"#,
            #"{"email":"kanarienvogel@example.com","proof":"\#(bytes)","deviceName":"kanarienvogel","lifetime":"device"}"#,
            #"{"deviceID":"kanarienvogel","deviceSecret":"\#(bytes)"}"#, "kanarienvogel",
        ] {
            for action in ["prepare", "create"] {
                _ = try await cloud.client.post(TestCloud.sessions(action, tokens), body)
            }
        }
        _ = try await cloud.client.post(
            "/database/1/\(TestCloud.container)/development/private/zones/list?ckAPIToken=kanarienvogel&ckWebAuthToken=kanarienvogel",
            "{}")
        _ = try await cloud.client.get("/metrics", headers: ["Authorization": "Bearer kanarienvogel"])
        for path in ["/kanarienvogel", "/asset/kanarienvogel/x", "/share/kanarienvogel"] {
            _ = try await cloud.client.get(path)
        }
    }
}
