import CloudKitModel
import CloudKitServer
import CoreMetrics
import MetricsTestKit
import Testing

@testable import CloudKitHTTP

/// Metrics, for `/metrics` and for a backend of the process.
@Suite(.timeLimit(.minutes(20))) struct MetricsTests {
    @Test func `a backend of the process gets the metrics as well`() async throws {
        let backend = TestMetrics()
        try await TestCloud.run(metricsBackend: backend) { cloud in
            for _ in 0..<2 { #expect(try await cloud.client.get("/health").status == 200) }
            #expect(try await cloud.client.get("/nowhere").status == 404)
            let page = try await cloud.client.get("/metrics").body
            for (endpoint, status, count) in [("health", "200", 2), ("unknown", "404", 1)] {
                let requests = try backend.expectCounter(
                    "welkin_requests_total", [("endpoint", endpoint), ("status", status)])
                #expect(requests.totalValue == Int64(count))
                #expect(
                    page.contains(
                        "welkin_requests_total{endpoint=\"\(endpoint)\",status=\"\(status)\"} \(count)\n"))
            }
            #expect(try backend.expectTimer("welkin_request_seconds", [("endpoint", "health")]).values.count == 2)
            #expect(page.contains("welkin_request_seconds_count{endpoint=\"health\"} 2\n"))
        }
    }

    @Test func `clouds of one process count for themselves`() async throws {
        try await TestCloud.run { first in
            #expect(try await first.client.get("/health").status == 200)
            try await TestCloud.run { second in
                let page = try await second.client.get("/metrics").body
                #expect(!page.contains("endpoint=\"health\""))
            }
        }
    }

    @Test func `metrics that nothing has counted yet are there`() async throws {
        try await TestCloud.run { cloud in
            let lines = try await cloud.client.get("/metrics").body.split(separator: "\n")
            #expect(lines.first == "# HELP welkin_requests_total Requests answered, by endpoint and HTTP status.")
            #expect(lines.contains("welkin_assets_uploaded_total 0"))
            #expect(lines.contains("welkin_connections 1"))
            let dropped = lines.filter { $0.hasPrefix("welkin_notifications_dropped_total{") }
            #expect(dropped.first == "welkin_notifications_dropped_total{reason=\"noNotificationInfo\"} 0")
            #expect(lines.last == "# TYPE welkin_push_addresses_removed_total counter")
        }
    }

    @Test func `what became of messages of push services is counted by service`() throws {
        let backend = TestMetrics()
        let counters = NotificationCounters(backend)
        func report(_ service: String, _ change: (inout PushReport) -> Void) {
            var report = PushReport(container: ContainerID("c"), environment: .development, service: service)
            change(&report)
            counters.record(.pushed(report))
        }
        report("mail") { $0.delivered = 2 }
        for _ in 0..<3 { report("mail") { $0.postponed = "busy" } }
        report("chat") { $0.postponed = "busy" }
        report("chat") { ($0.removed, $0.dropped) = ("gone", [.noOtherDevice: 4]) }
        #expect(try backend.expectCounter("welkin_notifications_sent_total").totalValue == 2)
        for (service, count) in [("mail", 3), ("chat", 1)] as [(String, Int64)] {
            let postponed = try backend.expectCounter("welkin_push_postponed_total", [("service", service)])
            #expect(postponed.totalValue == count)
        }
        let removed = try backend.expectCounter("welkin_push_addresses_removed_total", [("service", "chat")])
        #expect(removed.totalValue == 1)
        let reason = NotificationDropReason.noOtherDevice.rawValue
        #expect(try backend.expectCounter("welkin_notifications_dropped_total", [("reason", reason)]).totalValue == 4)
        #expect(throws: (any Error).self) {
            try backend.expectCounter("welkin_push_addresses_removed_total", [("service", "mail")])
        }
    }

    @Test func `an exporter writes counters, gauges and histograms`() {
        let exporter = PrometheusExporter()
        let quoted = [("path", "a\"b\\c\nd")]
        Counter(label: "saves", dimensions: quoted, factory: exporter).increment(by: 2)
        // The same name and labels are the same metric.
        Counter(label: "saves", dimensions: quoted, factory: exporter).increment()
        let load = Gauge(label: "load", factory: exporter)
        load.record(1.5)
        let open = Meter(label: "open", factory: exporter)
        open.increment()
        let wait = CoreMetrics.Timer(label: "wait", dimensions: [("to", "x")], factory: exporter)
        wait.recordNanoseconds(2_000_000)
        wait.recordNanoseconds(9_000_000_000)
        let text = exporter.exposition()
        #expect(
            text.hasPrefix("# TYPE saves counter\nsaves{path=\"a\\\"b\\\\c\\nd\"} 3\n# TYPE load gauge\nload 1.5\n"))
        #expect(
            text.contains("# TYPE open gauge\nopen 1\n# TYPE wait histogram\nwait_bucket{to=\"x\",le=\"0.001\"} 0\n"))
        #expect(text.contains("wait_bucket{to=\"x\",le=\"0.0025\"} 1\n"))
        #expect(
            text.hasSuffix(
                "wait_bucket{to=\"x\",le=\"+Inf\"} 2\nwait_sum{to=\"x\"} 9.002\nwait_count{to=\"x\"} 2\n"))
        wait.destroy()
        load.destroy()
        #expect(
            exporter.exposition().hasSuffix("# TYPE load gauge\n# TYPE open gauge\nopen 1\n# TYPE wait histogram\n"))
    }
}
