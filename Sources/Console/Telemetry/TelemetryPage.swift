import CloudKitHTTP
import CloudKitLogs
import CloudKitModel

/// What requests, notifications and the store came to over time.
struct TelemetryPage: ConsolePage {
    let store: any LogStore
    /// Whether it shows one container and environment alone.
    let isOfContainer: Bool

    var path: String { isOfContainer ? "containers/{container}/{environment}/telemetry" : "telemetry" }
    let title = "Telemetry"
    let navigation: String? = "Telemetry"

    /// Rows of a table.
    private static let rowsMax = 50

    func show(_ request: PageRequest) async throws -> PageResponse {
        let span = TelemetrySpan(rawValue: request.query["span"] ?? "") ?? .day
        let now = request.cloud.serverEnvironment.now()
        let group = request.query["group"]
        let starts = span.starts(before: now)
        var query = TelemetryQuery(from: starts[0], to: now + 1, resolution: span.resolution)
        query.container = request.containerPath?.container.name
        query.environment = request.containerPath?.environment.rawValue
        let points = try await store.telemetry(query).filter { group == nil || $0.key.groupName == group }
        let summary = TelemetrySummary(points, starts: starts)
        let disk =
            isOfContainer
            ? try await [storageChart(span, starts, now, try request.place)].compactMap { $0 }
            : try await diskCharts(span, starts, now)
        return .page {
            viewForm(request.logAddress(["telemetry"]), label: "View") {
                Input.choice(
                    "Time", name: "span", options: TelemetrySpan.allCases.map { ($0.rawValue, $0.title) },
                    selected: span.rawValue)
                Input.text(
                    "Operation group", name: "group", value: group ?? "",
                    suggestions: Array(summary.groups.keys.sorted().prefix(50)))
                Input.submit("Show")
            }
            Part.facts([
                ("Requests", Part.number(summary.requests.count)), ("With an error", Part.number(summary.failed)),
                ("Throttled", Part.number(summary.requests.throttled)),
                ("Operators' orders", Part.number(summary.orders.count)),
                (
                    "Latency",
                    HTML(
                        [(0.5, "p50"), (0.95, "p95"), (0.99, "p99")].map { share, name in
                            "\(name) \(summary.requests.latencies.percentile(share).map(LogText.milliseconds) ?? "–")"
                        }.joined(separator: ", "))
                ),
                (
                    "Bytes",
                    HTML([
                        Part.bytes(summary.requests.bytesIn), HTML(" in, "), Part.bytes(summary.requests.bytesOut),
                        HTML(" out"),
                    ])
                ),
            ])
            Part.section("Over time", id: "charts") {
                Tag.div(.class("charts")) {
                    summary.charts(span).map(\.html)
                    disk.map(\.html)
                }
            }
            Part.section("Errors", id: "errors") {
                Part.table(
                    caption: "Errors by code", columns: ["Code", "Requests"],
                    rows: summary.codes.sorted { ($0.value, $1.key) > ($1.value, $0.key) }.prefix(Self.rowsMax).map {
                        [
                            Part.link(
                                $0.key, request.logAddress(["logs"], query: [("code", $0.key), ("from", span.ago)])),
                            Part.number($0.value),
                        ]
                    }, empty: "No errors.")
            }
            table("Operations", id: "operations", column: "Operation", summary.operations)
            table("Operation groups", id: "groups", column: "Group", summary.groups)
            if !isOfContainer { table("Containers", id: "containers", column: "Container", summary.containers) }
        }
    }

    private func table(_ heading: String, id: String, column: String, _ counts: [String: TelemetryCounts]) -> HTML {
        let rows = counts.sorted { ($0.value.count, $1.key) > ($1.value.count, $0.key) }.prefix(Self.rowsMax)
        return Part.section(heading, id: id) {
            Part.table(
                caption: "\(heading) by requests",
                columns: [column, "Requests", "p50", "p99", "Bytes in", "Bytes out", "Throttled"],
                rows: rows.map { name, counts in
                    [
                        Part.name(name), Part.number(counts.count),
                        HTML(counts.latencies.percentile(0.5).map(LogText.milliseconds) ?? "–"),
                        HTML(counts.latencies.percentile(0.99).map(LogText.milliseconds) ?? "–"),
                        Part.bytes(counts.bytesIn),
                        Part.bytes(counts.bytesOut), Part.number(counts.throttled),
                    ]
                })
        }
    }

    /// Returns the chart of what a container's records take; nil before the first measurement.
    private func storageChart(
        _ span: TelemetrySpan, _ starts: [Int64], _ now: Int64, _ place: ContainerPath
    ) async throws -> Chart? {
        let measured = MeasuredPlace(container: place.container.name, environment: place.environment.rawValue)
        var series: [Chart.Series] = []
        for (name, title) in [(MeasurementName.publicBytes, "Public"), (.privateBytes, "Private")] {
            // Measured each hour: a shorter interval has the value of the last measurement before its end.
            let values = try await store.measurements(
                name, of: measured, from: starts[0] - Self.samplesApartMax, to: now + 1, resolution: span.resolution)
            if values.isEmpty { return nil }
            series.append(Chart.Series(name: title, values: Self.carried(values, starts, span.resolution)))
        }
        return Chart(
            title: "Storage of records", labels: starts.map(span.label), series: series,
            format: { ByteCountText.text(Int64($0)) })
    }

    /// Milliseconds between two measurements of a container, at most.
    private static let samplesApartMax: Int64 = 2 * 3_600_000

    /// Returns for each interval the last value that was measured until its end; 0 before the first.
    static func carried(_ values: [Measurement], _ starts: [Int64], _ resolution: TelemetryResolution) -> [Double] {
        var rest = values[...]
        var last = 0.0
        return starts.map { start in
            while let next = rest.first, next.time < start + resolution.milliseconds {
                last = Double(next.value)
                rest = rest.dropFirst()
            }
            return last
        }
    }

    private func diskCharts(_ span: TelemetrySpan, _ starts: [Int64], _ now: Int64) async throws -> [Chart] {
        var charts: [Chart] = []
        for (name, title) in [
            (MeasurementName.storeBytes, "Size of the store"), (.diskFreeBytes, "Free space of the disk"),
            (.accounts, "Accounts"),
        ] {
            let values = try await store.measurements(
                name, of: nil, from: starts[0], to: now + 1, resolution: span.resolution)
            guard !values.isEmpty else { continue }
            var byStart: [Int64: Int64] = [:]
            for value in values { byStart[span.resolution.start(of: value.time)] = value.value }
            charts.append(
                Chart(
                    title: title, labels: starts.map(span.label),
                    series: [Chart.Series(name: title, values: starts.map { Double(byStart[$0] ?? 0) })],
                    format: {
                        name == .accounts ? ByteCountText.grouped(String(Int64($0))) : ByteCountText.text(Int64($0))
                    }))
        }
        return charts
    }
}

/// The time that telemetry is shown for.
enum TelemetrySpan: String, CaseIterable {
    case hour, day, week, month

    var title: String {
        switch self {
        case .hour: "the last hour"
        case .day: "the last day"
        case .week: "the last week"
        case .month: "the last 30 days"
        }
    }

    var resolution: TelemetryResolution {
        switch self {
        case .hour: .minute
        case .day, .week: .hour
        case .month: .day
        }
    }

    /// The time as a filter of the log says it.
    var ago: String {
        switch self {
        case .hour: "1h"
        case .day: "24h"
        case .week: "7d"
        case .month: "30d"
        }
    }

    private var count: Int {
        switch self {
        case .hour: 60
        case .day: 24
        case .week: 168
        case .month: 30
        }
    }

    /// Returns the beginnings of the intervals, the last one of which is under way.
    func starts(before now: Int64) -> [Int64] {
        let last = resolution.start(of: now)
        return (0..<count).map { last - Int64(count - 1 - $0) * resolution.milliseconds }
    }

    /// Returns the text of an interval's beginning.
    func label(_ start: Int64) -> String {
        let text = TimeText.text(start)
        return self == .month ? String(text.prefix(10)) : String(text.prefix(16))
    }
}

/// Telemetry added up by what pages show.
struct TelemetrySummary {
    /// All requests.
    private(set) var requests = TelemetryCounts()
    /// Orders of operators, and their requests to the Console and the admin API: no app sent them.
    private(set) var orders = TelemetryCounts()
    /// Requests with an error.
    private(set) var failed = 0
    private(set) var codes: [String: Int] = [:]
    private(set) var operations: [String: TelemetryCounts] = [:]
    private(set) var groups: [String: TelemetryCounts] = [:]
    private(set) var containers: [String: TelemetryCounts] = [:]
    private let starts: [Int64]
    private var byStart: [Int64: Interval] = [:]

    private struct Interval {
        var requests = TelemetryCounts()
        var pushes = TelemetryCounts()
        var orders = 0
        var failed = 0
        var conflicts = 0
    }

    init(_ points: [TelemetryPoint], starts: [Int64]) {
        self.starts = starts
        for point in points { add(point) }
    }

    private mutating func add(_ point: TelemetryPoint) {
        if point.key.kind == .push {
            byStart[point.start, default: Interval()].pushes.add(point.counts)
            return
        }
        if point.key.kind == .operatorAction {
            orders.add(point.counts)
            byStart[point.start, default: Interval()].orders += point.counts.count
            return
        }
        requests.add(point.counts)
        byStart[point.start, default: Interval()].requests.add(point.counts)
        operations[point.key.operation, default: TelemetryCounts()].add(point.counts)
        if let group = point.key.groupName { groups[group, default: TelemetryCounts()].add(point.counts) }
        if let container = point.key.container { containers[container, default: TelemetryCounts()].add(point.counts) }
        guard let code = point.key.code else { return }
        failed += point.counts.count
        codes[code, default: 0] += point.counts.count
        byStart[point.start, default: Interval()].failed += point.counts.count
        if code == RequestFailure.Code.conflict.rawValue || code == RequestFailure.Code.recordExists.rawValue {
            byStart[point.start, default: Interval()].conflicts += point.counts.count
        }
    }

    /// Returns the charts of requests and notifications.
    func charts(_ span: TelemetrySpan) -> [Chart] {
        let intervals = starts.map { byStart[$0] ?? Interval() }
        let labels = starts.map(span.label)
        let count: (Double) -> String = { ByteCountText.grouped(String(Int64($0))) }
        func chart(
            _ title: String, _ series: [(String, (Interval) -> Double)], format: @escaping (Double) -> String
        ) -> Chart {
            Chart(
                title: title, labels: labels,
                series: series.map { Chart.Series(name: $0.0, values: intervals.map($0.1)) }, format: format)
        }
        func latency(_ share: Double) -> (Interval) -> Double { { $0.requests.latencies.percentile(share) ?? 0 } }
        return [
            chart("Requests", [("Requests", { Double($0.requests.count) })], format: count),
            chart(
                "Errors, conflicts and throttles",
                [
                    ("Errors", { Double($0.failed) }), ("Conflicts", { Double($0.conflicts) }),
                    ("Throttled", { Double($0.requests.throttled) }),
                ], format: count),
            chart(
                "Latency", [("p50", latency(0.5)), ("p95", latency(0.95)), ("p99", latency(0.99))],
                format: LogText.milliseconds),
            chart(
                "Bytes",
                [("In", { Double($0.requests.bytesIn) }), ("Out", { Double($0.requests.bytesOut) })],
                format: { ByteCountText.text(Int64($0)) }),
            chart(
                "Notifications",
                [
                    ("Decided", { Double($0.pushes.itemsIn) }), ("Sent", { Double($0.pushes.itemsOut) }),
                    ("Dropped", { Double($0.pushes.itemsFailed) }),
                ], format: count),
            chart("Operators' orders", [("Orders", { Double($0.orders) })], format: count),
        ]
    }
}
