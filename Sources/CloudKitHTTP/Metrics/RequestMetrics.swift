import CloudKitServer
import CoreMetrics
import Synchronization

/// The metrics of a cloud: of its requests, connections, commits and assets.
///
/// They go to an exporter of the cloud's own, for `/metrics`, and to the metrics backend of the process, if there is one.
package final class RequestMetrics: Sendable {
    private let exporter: PrometheusExporter
    private let factory: any MetricsFactory
    /// Made at the first response of their kind, so that a request looks up once.
    private let requests = Mutex<[Outcome: OutcomeMetrics]>([:])
    private let bytesIn: Counter
    private let bytesOut: Counter
    private let items: Counter
    private let itemsFailed: Counter
    private let connections: Meter
    private let connectionsRefused: [ChannelLimiter.Refusal: Counter]
    private let bodyBytes: Meter
    private let fetchesRefused: Counter
    private let commits: Counter
    private let commitTotal = Mutex<(total: @Sendable () -> Int, last: Int)?>(nil)
    private let assetsUploaded: Counter
    private let assetBytesIn: Counter
    private let assetBytesOut: Counter
    private let assetsSwept: Counter
    private let assetBytesSwept: Counter
    private let damagedValues: Counter
    private let epochsRenewed: Counter
    private let storeBytes: Meter
    private let diskFreeBytes: Meter
    private let storeWritable: Meter
    private let memoryBytes: Meter
    private let accounts: Meter
    private let backupAge: Meter
    private let backupLag: Meter
    private let backupSeconds: Meter
    private let backupBytes: Meter
    private let backupBytesAdded: Counter
    private let backupsTaken: Counter
    private let backupsFailed: Counter
    private let logDropped: Counter
    private let logFailed: Counter
    let notifications: NotificationCounters

    private struct Outcome: Hashable {
        var endpoint: EndpointName
        var status: Int
    }

    private struct OutcomeMetrics {
        var count: Counter
        var duration: Timer
    }

    /// Creates metrics that count from zero.
    ///
    /// - Parameter backend: Receives every metric in addition to `/metrics`; by default the backend of the process.
    package init(backend: any MetricsFactory = MetricsSystem.factory) {
        let exporter = PrometheusExporter(Self.families)
        self.exporter = exporter
        let factory: any MetricsFactory =
            backend is NOOPMetricsHandler ? exporter : MultiplexMetricsHandler(factories: [exporter, backend])
        self.factory = factory
        bytesIn = Counter(label: "welkin_request_bytes_total", factory: factory)
        bytesOut = Counter(label: "welkin_response_bytes_total", factory: factory)
        items = Counter(label: "welkin_items_total", factory: factory)
        itemsFailed = Counter(label: "welkin_items_failed_total", factory: factory)
        connections = Meter(label: "welkin_connections", factory: factory)
        var refused: [ChannelLimiter.Refusal: Counter] = [:]
        for reason in ChannelLimiter.Refusal.allCases {
            refused[reason] = Counter(
                label: "welkin_connections_refused_total", dimensions: [("reason", reason.rawValue)],
                factory: factory)
        }
        connectionsRefused = refused
        bodyBytes = Meter(label: "welkin_body_bytes_held", factory: factory)
        fetchesRefused = Counter(label: "welkin_fetches_refused_total", factory: factory)
        commits = Counter(label: "welkin_commits_total", factory: factory)
        assetsUploaded = Counter(label: "welkin_assets_uploaded_total", factory: factory)
        assetBytesIn = Counter(label: "welkin_asset_received_bytes_total", factory: factory)
        assetBytesOut = Counter(label: "welkin_asset_sent_bytes_total", factory: factory)
        assetsSwept = Counter(label: "welkin_assets_removed_total", factory: factory)
        assetBytesSwept = Counter(label: "welkin_asset_removed_bytes_total", factory: factory)
        damagedValues = Counter(label: "welkin_damaged_values_total", factory: factory)
        epochsRenewed = Counter(label: "welkin_epochs_renewed_total", factory: factory)
        storeBytes = Meter(label: "welkin_store_bytes", factory: factory)
        diskFreeBytes = Meter(label: "welkin_disk_free_bytes", factory: factory)
        storeWritable = Meter(label: "welkin_store_writable", factory: factory)
        memoryBytes = Meter(label: "welkin_memory_bytes", factory: factory)
        accounts = Meter(label: "welkin_accounts", factory: factory)
        backupAge = Meter(label: "welkin_backup_age_seconds", factory: factory)
        backupLag = Meter(label: "welkin_backup_lag_seconds", factory: factory)
        backupSeconds = Meter(label: "welkin_backup_duration_seconds", factory: factory)
        backupBytes = Meter(label: "welkin_backup_bytes", factory: factory)
        backupBytesAdded = Counter(label: "welkin_backup_added_bytes_total", factory: factory)
        backupsTaken = Counter(
            label: "welkin_backups_total", dimensions: [("outcome", "done")], factory: factory)
        backupsFailed = Counter(
            label: "welkin_backups_total", dimensions: [("outcome", "failed")], factory: factory)
        logDropped = Counter(label: "welkin_log_entries_dropped_total", factory: factory)
        logFailed = Counter(label: "welkin_log_entries_failed_total", factory: factory)
        Meter(label: "welkin_build_info", dimensions: [("version", BuildVersion.text)], factory: factory).set(1)
        notifications = NotificationCounters(factory)
    }

    /// Counts a request that was responded to.
    func record(_ report: RequestReport) {
        let outcome = metrics(of: Outcome(endpoint: report.endpoint, status: report.status))
        outcome.count.increment()
        outcome.duration.recordNanoseconds(report.duration.nanoseconds)
        bytesIn.increment(by: report.bytesIn)
        bytesOut.increment(by: report.bytesOut)
        items.increment(by: report.itemsIn)
        itemsFailed.increment(by: report.itemsFailed)
    }

    func connectionOpened() { connections.increment() }
    func connectionClosed() { connections.decrement() }

    /// Counts a connection that was closed so that others can be kept or accepted.
    func connectionRefused(_ reason: ChannelLimiter.Refusal) { connectionsRefused[reason]?.increment() }

    /// Adds to the bytes of bodies that are in memory, or removes from them.
    func bodyBytesHeld(change: Int) {
        if change < 0 { bodyBytes.decrement(by: Double(-change)) } else { bodyBytes.increment(by: Double(change)) }
    }

    /// Counts a fetch that was refused because saves needed the processors.
    func fetchRefused() { fetchesRefused.increment() }

    /// Counts a file that is complete.
    func assetUploaded() { assetsUploaded.increment() }
    func assetBytesReceived(_ count: Int) { assetBytesIn.increment(by: count) }
    func assetBytesSent(_ count: Int) { assetBytesOut.increment(by: count) }

    /// Counts files that nothing needed any more.
    package func assetsRemoved(_ sweep: AssetSweep) {
        assetsSwept.increment(by: sweep.files)
        assetBytesSwept.increment(by: sweep.bytes)
    }

    /// Counts stored values that were found damaged.
    package func valuesDamaged(_ count: Int) { damagedValues.increment(by: count) }

    /// Counts renewals of the store's epoch.
    package func epochsRenewed(_ count: Int) { epochsRenewed.increment(by: count) }

    /// Counts changes of the store from now on.
    ///
    /// - Parameter total: Returns the number of changes so far. Asked whenever the metrics are shown.
    package func countCommits(_ total: @escaping @Sendable () -> Int) {
        commitTotal.withLock { $0 = (total, total()) }
    }

    private func updateCommits() {
        let added = commitTotal.withLock { commitTotal in
            guard let (total, last) = commitTotal else { return 0 }
            let now = total()
            commitTotal = (total, now)
            return now - last
        }
        if added > 0 { commits.increment(by: added) }
    }

    /// Shows the state of the disk.
    package func measured(_ status: StorageStatus) {
        // For metrics that are sent elsewhere, and not shown.
        updateCommits()
        storeBytes.set(status.storeBytes)
        diskFreeBytes.set(status.freeBytes)
        storeWritable.set(status.isWritable ? 1 : 0)
        if let bytes = status.memoryBytes { memoryBytes.set(bytes) }
        if let count = status.accounts { accounts.set(count) }
    }

    /// Shows the state of the scheduled backups.
    package func measured(_ status: BackupStatus, now: Int64) {
        backupAge.set(status.age(at: now))
        if let lag = status.lag(at: now) { backupLag.set(Double(lag) / 1000) }
        backupSeconds.set(Double(status.duration) / 1000)
        backupBytes.set(status.bytes)
    }

    /// Counts a scheduled backup.
    package func backupTaken(bytesAdded: Int64) {
        backupsTaken.increment()
        backupBytesAdded.increment(by: bytesAdded)
    }

    /// Counts a scheduled backup that failed.
    package func backupFailed() { backupsFailed.increment() }

    /// Counts entries of the log that came faster than they could be written.
    package func logEntriesDropped(_ count: Int) { logDropped.increment(by: count) }

    /// Counts entries of the log that could not be written.
    package func logEntriesFailed(_ count: Int) { logFailed.increment(by: count) }

    /// Returns all metrics in Prometheus' text format.
    package func exposition() -> String {
        updateCommits()
        return exporter.exposition()
    }

    private func metrics(of outcome: Outcome) -> OutcomeMetrics {
        requests.withLock { requests in
            if let known = requests[outcome] { return known }
            let endpoint = ("endpoint", outcome.endpoint.rawValue)
            let made = OutcomeMetrics(
                count: Counter(
                    label: "welkin_requests_total", dimensions: [endpoint, ("status", String(outcome.status))],
                    factory: factory),
                duration: Timer(label: "welkin_request_seconds", dimensions: [endpoint], factory: factory))
            requests[outcome] = made
            return made
        }
    }

    private static let families =
        [
            MetricFamily(
                name: "welkin_requests_total", kind: .counter, help: "Requests answered, by endpoint and HTTP status."),
            MetricFamily(
                name: "welkin_request_seconds", kind: .histogram, help: "Time to answer a request, by endpoint."),
            MetricFamily(name: "welkin_request_bytes_total", kind: .counter, help: "Bytes of request bodies."),
            MetricFamily(name: "welkin_response_bytes_total", kind: .counter, help: "Bytes of response bodies."),
            MetricFamily(
                name: "welkin_items_total", kind: .counter, help: "Records and zones that requests named."),
            MetricFamily(name: "welkin_items_failed_total", kind: .counter, help: "Items answered with an error."),
            MetricFamily(name: "welkin_connections", kind: .gauge, help: "Connections that are open."),
            MetricFamily(
                name: "welkin_connections_refused_total", kind: .counter,
                help: "Connections closed to keep or accept others, by reason."),
            MetricFamily(
                name: "welkin_body_bytes_held", kind: .gauge, help: "Bytes of request bodies that are in memory."),
            MetricFamily(
                name: "welkin_fetches_refused_total", kind: .counter,
                help: "Fetches refused because saves needed the processors."),
            MetricFamily(
                name: "welkin_commits_total", kind: .counter, help: "Changes of partitions that the store told of."),
            MetricFamily(
                name: "welkin_assets_uploaded_total", kind: .counter, help: "Files of assets that were completed."),
            MetricFamily(
                name: "welkin_asset_received_bytes_total", kind: .counter, help: "Bytes of files that came in."),
            MetricFamily(
                name: "welkin_asset_sent_bytes_total", kind: .counter, help: "Bytes of files that went out."),
            MetricFamily(
                name: "welkin_assets_removed_total", kind: .counter, help: "Files that nothing needed any more."),
            MetricFamily(name: "welkin_asset_removed_bytes_total", kind: .counter, help: "Their bytes."),
            MetricFamily(
                name: "welkin_damaged_values_total", kind: .counter,
                help: "Stored values whose checksum does not hold, each once."),
            MetricFamily(
                name: "welkin_epochs_renewed_total", kind: .counter,
                help: "Times that the store was found older than what devices know."),
            MetricFamily(
                name: "welkin_store_bytes", kind: .gauge, help: "Bytes of the store, its write-ahead log and the log."),
            MetricFamily(name: "welkin_disk_free_bytes", kind: .gauge, help: "Bytes of the disk that are free."),
            MetricFamily(
                name: "welkin_store_writable", kind: .gauge, help: "1 if a file could be written beside the store."),
            MetricFamily(
                name: "welkin_memory_bytes", kind: .gauge, help: "Bytes of memory that the process has."),
            MetricFamily(name: "welkin_accounts", kind: .gauge, help: "Accounts."),
            MetricFamily(
                name: "welkin_backup_age_seconds", kind: .gauge,
                help: "Age of the newest scheduled backup; without one, of the schedule."),
            MetricFamily(
                name: "welkin_backup_lag_seconds", kind: .gauge,
                help: "Time by which a backup that gets all changes is behind the cloud; 0 without one."),
            MetricFamily(
                name: "welkin_backup_duration_seconds", kind: .gauge, help: "Time that the newest backup took."),
            MetricFamily(
                name: "welkin_backup_bytes", kind: .gauge,
                help: "Bytes of the store and the files in the newest backup."),
            MetricFamily(
                name: "welkin_backup_added_bytes_total", kind: .counter, help: "Bytes that backups have written."),
            MetricFamily(name: "welkin_backups_total", kind: .counter, help: "Scheduled backups, by outcome."),
            MetricFamily(
                name: "welkin_log_entries_dropped_total", kind: .counter,
                help: "Entries of the log that came faster than they could be written."),
            MetricFamily(
                name: "welkin_log_entries_failed_total", kind: .counter,
                help: "Entries of the log that could not be written."),
            MetricFamily(name: "welkin_build_info", kind: .gauge, help: "1, with the version of the program."),
        ] + NotificationCounters.families
}
