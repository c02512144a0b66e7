import CloudKitHTTP
import MetricsTestKit
import Testing

/// Metrics, for `/metrics` and for a backend of the process.
struct MetricsTests {
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
}
