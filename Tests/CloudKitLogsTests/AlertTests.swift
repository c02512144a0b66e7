import CloudKitLogs
import Testing

/// When alerts begin and end, and which rules are refused.
@Suite(.timeLimit(.minutes(1)))
struct AlertTests {
    private func point(
        _ count: Int, code: String? = nil, container: String = "iCloud.a", kind: LogEntry.Kind = .request
    )
        -> TelemetryPoint
    {
        var counts = TelemetryCounts()
        var entry = LogEntry(id: LogID(high: 1, low: 1), kind: kind, operation: "records/modify")
        entry.microseconds = 10_000
        entry.itemsFailed = 2
        entry.code = code
        for _ in 0..<count { counts.add(entry) }
        return TelemetryPoint(
            start: 0,
            key: TelemetryKey(
                kind: kind, container: container, environment: "production", operation: "records/modify", code: code),
            counts: counts)
    }

    @Test func `an alert begins once and ends once, however long it lasts`() {
        let rule = AlertRule(name: "errors", measure: .errors, above: 5)
        var episodes = AlertEpisodes()
        var events: [(Bool, Int64)] = []
        for (minute, value) in [3.0, 6, 7, 6, 5, 2, 9].enumerated() {
            for event in episodes.update([rule], values: ["errors": value], now: Int64(minute)) {
                events.append((event.isOver, event.since))
                #expect(event.value == value && event.time == Int64(minute))
            }
        }
        #expect(events.map(\.0) == [false, true, false])
        #expect(events.map(\.1) == [1, 1, 6])
        #expect(episodes.since == ["errors": 6])
        // Nothing is known for a while: the alert goes on.
        #expect(episodes.update([rule], values: [:], now: 8).isEmpty)
        #expect(episodes.since == ["errors": 6])
        #expect(episodes.update([], values: [:], now: 9).isEmpty)
        #expect(episodes.since.isEmpty)
    }

    @Test func `measures look at the requests that the rule names`() {
        let points = [
            point(90), point(6, code: "conflict"), point(4, code: "throttled", container: "iCloud.b"),
            point(5, kind: .push), point(7, code: "conflict", kind: .operatorAction),
        ]
        var rule = AlertRule(name: "x", measure: .errors, above: 0)
        #expect(rule.value(points, disk: nil) == 10)
        rule.code = "conflict"
        #expect(rule.value(points, disk: nil) == 6)
        rule.container = "iCloud.b"
        #expect(rule.value(points, disk: nil) == 0)
        rule = AlertRule(name: "x", measure: .errorPercent, above: 0)
        #expect(rule.value(points, disk: nil) == 10)
        #expect(rule.value([], disk: nil) == 0)
        rule.measure = .throttles
        #expect(rule.value(points, disk: nil) == 4)
        rule.measure = .requests
        #expect(rule.value(points, disk: nil) == 100)
        rule.measure = .pushesDropped
        #expect(rule.value(points, disk: nil) == 10)
        rule.measure = .latency99
        #expect((rule.value(points, disk: nil) ?? 0) >= 10)
        rule.measure = .freeMegabytes
        #expect(rule.value(points, disk: nil) == nil)
        #expect(rule.value([], disk: AlertDisk(freeBytes: 5_000_000, storeBytes: 1, isWritable: true)) == 5)
        rule.measure = .writable
        #expect(rule.value([], disk: AlertDisk(freeBytes: 0, storeBytes: 1, isWritable: false)) == 0)
    }

    @Test func `rules that cannot be used say why`() {
        #expect(AlertRule(name: "a", measure: .errors, above: 1).problem == nil)
        #expect(AlertRule(name: "", measure: .errors, above: 1).problem?.contains("name") == true)
        #expect(AlertRule(name: "a\n", measure: .errors, above: 1).problem?.contains("name") == true)
        #expect(AlertRule(name: "a", measure: .errors).problem?.contains("above") == true)
        #expect(AlertRule(name: "a", measure: .errors, above: 1, below: 2).problem?.contains("above") == true)
        #expect(AlertRule(name: "a", measure: .errors, minutes: 0, above: 1).problem?.contains("minutes") == true)
        #expect(AlertRule(name: "a", measure: .errors, above: 1, actions: []).problem?.contains("action") == true)
        #expect(AlertRule(name: "a", measure: .errors, above: .nan).problem?.contains("number") == true)
        for action in [
            "ftp://a", "https://", "https://user@host/", "mailto:", "mailto:a@b\r\nRCPT TO:<x>", "mailto:a b@c", "sms",
            "mailto:-a@b", "mailto:a@b@c", "http://a b",
        ] {
            #expect(AlertAction(action) == nil, "\(action)")
        }
        #expect(AlertAction("https://Hooks.example/services/SECRET")?.shown == "https://hooks.example/…")
        #expect(AlertAction("mailto:ops@example.com") == .mail(to: "ops@example.com"))
    }

    @Test func `a failure is explained by its rule, its remedy and the line of the schema`() throws {
        let schema = """
            DEFINE SCHEMA

                RECORD TYPE Other (
                    due STRING,
                    GRANT READ TO "_world"
                );

                RECORD TYPE Task (
                    "___recordID" REFERENCE QUERYABLE,
                    due TIMESTAMP,
                    GRANT READ TO "_world"
                );
            """
        let query = LogFailure(
            recordType: "Task", code: "indexMissing", reason: "Field 'due' is not marked sortable")
        let explained = FailureExplanation(query, schema: schema)
        #expect(explained.rule == "B-ERR-08")
        #expect(explained.schemaLine?.number == 10)
        #expect(explained.schemaLine?.text == "due TIMESTAMP,")
        let type = LogFailure(
            recordType: "Task", code: "schemaMismatch", reason: "Cannot create or modify field 'done'",
            remedy: "Deploy.")
        #expect(FailureExplanation(type, schema: schema).schemaLine?.text == "RECORD TYPE Task (")
        #expect(FailureExplanation(type, schema: schema).remedy == "Deploy.")
        let missing = LogFailure(recordType: "None", code: "typeNotFound", reason: "Did not find record type: None")
        #expect(FailureExplanation(missing, schema: schema).schemaLine == nil)
        #expect(!FailureExplanation(LogFailure(code: "strange", reason: "")).remedy.isEmpty)
    }
}
