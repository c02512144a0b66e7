import CloudKitServer
import Synchronization

/// Counts what a cloud does, for Prometheus to read.
package final class RequestMetrics: Sendable {
    /// Upper ends of the histogram's buckets, seconds.
    static let buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

    private struct Outcome: Hashable {
        var endpoint: Endpoint
        var status: Int

        var order: (String, Int) { (endpoint.rawValue, status) }
    }

    private struct Latency {
        var counts = [Int](repeating: 0, count: RequestMetrics.buckets.count + 1)
        var sum = 0.0
    }

    private struct State {
        var requests: [Outcome: Int] = [:]
        var latencies: [Endpoint: Latency] = [:]
        var bytesIn = 0
        var bytesOut = 0
        var items = 0
        var itemsFailed = 0
        var assets = Assets()
    }

    /// Files of assets, and their bytes.
    private struct Assets {
        var uploaded = 0
        var bytesReceived = 0
        var bytesSent = 0
        var removed = 0
        var bytesRemoved = 0
    }

    private let state = Mutex(State())
    private let connections = Atomic(0)
    private let commitCount = Atomic(0)

    package init() {}

    func record(_ report: RequestReport) {
        let seconds = report.milliseconds / 1000
        let bucket = Self.buckets.firstIndex { seconds <= $0 } ?? Self.buckets.count
        state.withLock { state in
            state.requests[Outcome(endpoint: report.endpoint, status: report.status), default: 0] += 1
            state.latencies[report.endpoint, default: Latency()].counts[bucket] += 1
            state.latencies[report.endpoint, default: Latency()].sum += seconds
            state.bytesIn += report.bytesIn
            state.bytesOut += report.bytesOut
            state.items += report.itemsIn
            state.itemsFailed += report.itemsFailed
        }
    }

    func connectionOpened() { connections.add(1, ordering: .relaxed) }
    func connectionClosed() { connections.subtract(1, ordering: .relaxed) }

    /// Counts a file that is complete.
    func assetUploaded() { state.withLock { $0.assets.uploaded += 1 } }
    func assetBytesReceived(_ count: Int) { state.withLock { $0.assets.bytesReceived += count } }
    func assetBytesSent(_ count: Int) { state.withLock { $0.assets.bytesSent += count } }

    /// Counts files that nothing needed any more.
    package func assetsRemoved(_ sweep: AssetSweep) {
        state.withLock { state in
            state.assets.removed += sweep.files
            state.assets.bytesRemoved += Int(sweep.bytes)
        }
    }

    /// Counts a transaction that changed the store.
    package func committed() { commitCount.add(1, ordering: .relaxed) }

    /// Everything in Prometheus' text format.
    func exposition(notices: NotificationCounts = NotificationCounts()) -> String {
        let state = state.withLock { $0 }
        var page = ExpositionPage()
        page.family("welkin_requests_total", "counter", "Requests answered, by endpoint and HTTP status.")
        for (outcome, count) in state.requests.sorted(by: { $0.key.order < $1.key.order }) {
            page.sample("{endpoint=\"\(outcome.endpoint.rawValue)\",status=\"\(outcome.status)\"}", count)
        }
        page.family("welkin_request_seconds", "histogram", "Time to answer a request, by endpoint.")
        for (endpoint, latency) in state.latencies.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            page.histogram("endpoint=\"\(endpoint.rawValue)\"", Self.buckets, latency.counts, latency.sum)
        }
        page.single("welkin_request_bytes_total", "counter", "Bytes of request bodies.", state.bytesIn)
        page.single("welkin_response_bytes_total", "counter", "Bytes of response bodies.", state.bytesOut)
        page.single("welkin_items_total", "counter", "Records and zones that requests named.", state.items)
        page.single("welkin_items_failed_total", "counter", "Items answered with an error.", state.itemsFailed)
        page.single(
            "welkin_connections", "gauge", "Connections that are open.", connections.load(ordering: .relaxed))
        page.single(
            "welkin_commits_total", "counter", "Changes of partitions that the store told of.",
            commitCount.load(ordering: .relaxed))
        let assets = state.assets
        page.single("welkin_assets_uploaded_total", "counter", "Files of assets that were completed.", assets.uploaded)
        page.single(
            "welkin_asset_received_bytes_total", "counter", "Bytes of files that came in.", assets.bytesReceived)
        page.single("welkin_asset_sent_bytes_total", "counter", "Bytes of files that went out.", assets.bytesSent)
        page.single(
            "welkin_assets_removed_total", "counter", "Files that nothing needed any more.", assets.removed)
        page.single("welkin_asset_removed_bytes_total", "counter", "Their bytes.", assets.bytesRemoved)
        page.single(
            "welkin_notifications_decided_total", "counter", "Subscriptions that changes have met.", notices.decided)
        page.single(
            "welkin_notifications_sent_total", "counter", "Notifications that devices were given.", notices.sent)
        page.family(
            "welkin_notifications_dropped_total", "counter", "Notifications that went nowhere, by reason.")
        for reason in NotificationDropReason.allCases {
            page.sample("{reason=\"\(reason.rawValue)\"}", notices.dropped[reason] ?? 0)
        }
        page.family(
            "welkin_push_postponed_total", "counter", "Attempts of push services that failed and are repeated.")
        for (service, count) in notices.postponed.sorted(by: { $0.key < $1.key }) {
            page.sample("{service=\"\(service)\"}", count)
        }
        page.family("welkin_push_addresses_removed_total", "counter", "Addresses of push services that were let go.")
        for (service, count) in notices.removed.sorted(by: { $0.key < $1.key }) {
            page.sample("{service=\"\(service)\"}", count)
        }
        return page.text
    }
}
