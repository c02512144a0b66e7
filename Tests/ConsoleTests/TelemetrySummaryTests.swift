import CloudKitLogs
import Foundation
import Testing

@testable import Console

/// What the pages of logs, telemetry and alerts make of values, without a cloud.
@Suite(.timeLimit(.minutes(1)))
struct TelemetrySummaryTests {
    private static let now: Int64 = 1_790_000_000_000

    private func point(_ start: Int64, _ count: Int, kind: LogEntry.Kind = .request, code: String? = nil)
        -> TelemetryPoint
    {
        var counts = TelemetryCounts()
        var entry = LogEntry(id: LogID(high: 1, low: 1), kind: kind, operation: "records/modify")
        entry.microseconds = 8000
        entry.itemsOut = 2
        for _ in 0..<count { counts.add(entry) }
        return TelemetryPoint(
            start: start,
            key: TelemetryKey(
                kind: kind, container: "iCloud.a", environment: "production", operation: "records/modify",
                groupName: "Import", code: code), counts: counts)
    }

    @Test func `telemetry is added up by interval, code, operation, group and container`() throws {
        let starts = TelemetrySpan.hour.starts(before: Self.now)
        #expect(starts.count == 60 && starts[59] == TelemetryResolution.minute.start(of: Self.now))
        let summary = TelemetrySummary(
            [
                point(starts[3], 5), point(starts[3], 2, code: "conflict"), point(starts[9], 1, code: "throttled"),
                point(starts[9], 4, kind: .push), point(starts[9], 3, kind: .operatorAction, code: "accessDenied"),
            ], starts: starts)
        #expect(summary.requests.count == 8 && summary.failed == 3)
        #expect(summary.codes == ["conflict": 2, "throttled": 1])
        #expect(summary.operations["records/modify"]?.count == 8)
        #expect(summary.groups["Import"]?.count == 8 && summary.containers["iCloud.a"]?.count == 8)
        #expect(summary.orders.count == 3)
        let charts = summary.charts(.hour)
        let orders = try #require(charts.first { $0.title == "Operators' orders" })
        #expect(orders.series[0].values[9] == 3)
        let requests = try #require(charts.first { $0.title == "Requests" })
        #expect(requests.series[0].values[3] == 7 && requests.series[0].values[9] == 1)
        let errors = try #require(charts.first { $0.title.hasPrefix("Errors") })
        #expect(errors.series.map { $0.values[3] } == [2, 2, 0])
        let pushes = try #require(charts.first { $0.title == "Notifications" })
        #expect(pushes.series.map { $0.values[9] } == [0, 8, 0])
    }

    @Test func `an interval without a measurement has the last one before it`() {
        let starts: [Int64] = [0, 60_000, 120_000, 180_000]
        let values = [(-5, 1), (60_000, 2), (119_999, 3)].map {
            Measurement(time: Int64($0.0), name: .publicBytes, value: Int64($0.1))
        }
        #expect(TelemetryPage.carried(values, starts, .minute) == [1, 3, 3, 3])
        #expect(TelemetryPage.carried([], starts, .minute) == [0, 0, 0, 0])
    }

    @Test func `a chart is an image with a name, and has a table of its values`() {
        let markup = Chart(
            title: "A & B", labels: ["t1", "t2"], series: [Chart.Series(name: "x", values: [0, 4])],
            format: { "\(Int($0)) pieces" }
        ).html.markup
        #expect(markup.contains(#"role="img" aria-label="A &amp; B""#))
        #expect(markup.components(separatedBy: "<rect").count == 2)
        #expect(
            markup.contains("4 pieces at most") && markup.contains("<table>") && markup.contains("<td>4 pieces</td>"))
        #expect(!markup.contains("style="))
        let empty = Chart(
            title: "E", labels: ["t"], series: [Chart.Series(name: "x", values: [0])], format: { "\($0)" })
        #expect(!empty.html.markup.contains("nan"))
    }

    @Test func `the form of an alert becomes a rule, and a wrong one says why`() throws {
        let rule = try AlertsPage.rule(
            FormFields(
                "name=disk&measure=freeMegabytes&direction=below&bound=500&minutes=5&actions=log%0D%0Amailto%3Aops%40example.com"
                    .utf8))
        #expect(rule.below == 500 && rule.above == nil && rule.actions == ["log", "mailto:ops@example.com"])
        for text in [
            "name=x&measure=none&bound=1&minutes=5", "name=x&measure=errors&bound=a&minutes=5",
            "name=&measure=errors&bound=1&minutes=5", "name=x&measure=errors&bound=1&minutes=5&actions=file%3A%2F%2Fx",
        ] {
            #expect(throws: AlertRuleList.Problem.self) { try AlertsPage.rule(FormFields(text.utf8)) }
        }
    }

    @Test func `an entry's parts are escaped`() {
        var entry = LogEntry(id: LogID(high: 1, low: 1), kind: .request, operation: "records/modify")
        entry.zone = "<script>"
        entry.status = 409
        entry.code = "conflict"
        #expect(!LogText.place(entry, withContainer: true).markup.contains("<script>"))
        #expect(LogText.result(entry).markup.contains("conflict"))
        #expect(LogText.milliseconds(0.25) == "0.3 ms" && LogText.milliseconds(12_345) == "12.3 s")
    }
}
