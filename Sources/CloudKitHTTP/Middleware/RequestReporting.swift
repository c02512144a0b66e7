import CloudKitModel
import HTTPTypes
import Logging

/// Reports every request to the log and the metrics.
struct RequestReporting: RequestMiddleware {
    var metrics: RequestMetrics
    var logger: Logger

    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        var response = try await next(request)
        var report = RequestReport(request)
        report.status = response.status.code
        report.code = response.code?.rawValue
        report.itemsIn = response.itemsIn
        report.itemsOut = response.itemsOut
        report.itemsFailed = response.itemsFailed
        switch response.body {
        case .bytes(let bytes):
            report.bytesOut = bytes.count
            finish(report, since: request.start)
        case .file where request.method == .head: finish(report, since: request.start)
        case .file:
            report.itemsOut = 1
            // The report of a file is complete once it has been sent.
            response.onFileSent = { [self, report, start = request.start] count in
                var report = report
                report.bytesOut = count
                finish(report, since: start)
            }
        }
        return response
    }

    private func finish(_ unfinished: RequestReport, since start: ContinuousClock.Instant) {
        var report = unfinished
        report.milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
        metrics.record(report)
        logger.log(level: level(of: report), "request", metadata: report.metadata)
    }

    /// Monitoring asks for health and metrics all the time, and waiting devices for notifications.
    private func level(of report: RequestReport) -> Logger.Level {
        if report.status >= 500 { return .error }
        return [.health, .metrics, .courier].contains(report.endpoint) ? .debug : .info
    }
}
