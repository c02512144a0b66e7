import CloudKitLogs
import CloudKitModel
import HTTPTypes
import Logging

/// Reports every request to the log and the metrics.
struct RequestReporting: RequestMiddleware {
    var metrics: RequestMetrics
    var logger: Logger
    /// nil for no log but that of lines.
    var log: LogBuffer?

    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        var response = try await next(request)
        var report = RequestReport(request)
        report.status = response.status.code
        report.code = response.code?.rawValue
        report.itemsIn = response.itemsIn
        report.itemsOut = response.itemsOut
        report.itemsFailed = response.itemsFailed
        let entry = entry(of: request, response, report)
        switch response.body {
        case .bytes(let bytes):
            report.bytesOut = bytes.count
            finish(report, entry, since: request.start)
        case .file where request.method == .head: finish(report, entry, since: request.start)
        case .file:
            report.itemsOut = 1
            // The report of a file is complete once it has been sent.
            response.onFileSent = { [self, report, start = request.start] count in
                var report = report
                report.bytesOut = count
                finish(report, entry, since: start)
            }
        }
        return response
    }

    private func finish(_ unfinished: RequestReport, _ entry: LogEntry?, since start: ContinuousClock.Instant) {
        var report = unfinished
        let time = ContinuousClock.now - start
        report.milliseconds = time / .milliseconds(1)
        metrics.record(report)
        logger.log(level: level(of: report), "request", metadata: report.metadata)
        guard var entry, let log else { return }
        entry.microseconds = Int(time / .microseconds(1))
        entry.bytesOut = report.bytesOut
        entry.itemsOut = report.itemsOut
        log.add(entry)
    }

    /// Returns the entry of a request; nil for what monitoring and waiting devices ask for all the time, unless it failed.
    private func entry(
        of request: IncomingRequest, _ response: EndpointResponse, _ report: RequestReport
    ) -> LogEntry? {
        guard log != nil else { return nil }
        // An operator who follows the log in the Console should not see only that.
        let isLooking = report.endpoint == .site && report.method != .post
        guard !isLooking && !Self.isFrequent(report.endpoint) || report.status >= 400 else { return nil }
        let retryAfter = response.headers[.retryAfter].flatMap { Int($0) } ?? 0
        return LogEntry(request, report, retryAfter: retryAfter)
    }

    /// Monitoring asks for health and metrics all the time, and waiting devices for notifications.
    private static func isFrequent(_ endpoint: EndpointName) -> Bool {
        endpoint == .health || endpoint == .metrics || endpoint == .courier
    }

    private func level(of report: RequestReport) -> Logger.Level {
        if report.status >= 500 { return .error }
        return Self.isFrequent(report.endpoint) ? .debug : .info
    }
}
