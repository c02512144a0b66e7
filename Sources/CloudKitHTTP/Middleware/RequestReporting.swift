import CloudKitLogs
import HTTPTypes
import Logging

/// Reports every request to the log and the metrics.
struct RequestReporting: RequestMiddleware {
    var metrics: RequestMetrics
    var logger: Logger
    /// Takes reports of requests, whose owner writes the lines as well; nil: lines are written at once, and there are no entries.
    var log: LogBuffer?
    /// Milliseconds since 1970.
    var now: @Sendable () -> Int64
    var pseudonyms: RecordPseudonyms

    func handle(_ request: IncomingRequest, next: RequestHandler) async throws -> EndpointResponse {
        var response = try await next(request)
        var report = RequestReport(request, pseudonyms: pseudonyms)
        report.status = response.status.code
        report.code = response.code?.rawValue
        report.itemsIn = response.itemsIn
        report.itemsOut = response.itemsOut
        report.itemsFailed = response.itemsFailed
        if log != nil, isKept(report) {
            report.retryAfter = response.headers[.retryAfter].flatMap { Int($0) } ?? 0
            report.subject = request.subject.takeContent()
        }
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

    private func finish(_ report: consuming RequestReport, since start: ContinuousClock.Instant) {
        report.duration = ContinuousClock.now - start
        metrics.record(report)
        let level = Logger.Level(report.level)
        report.hasLine = level >= logger.logLevel
        guard report.hasLine || report.subject != nil else { return }
        report.time = now()
        if let log { return log.add(WaitingReport(report)) }
        guard let line = report.makeLine() else { return }
        logger.log(
            level: level, "\(line.message)",
            metadata: Dictionary(uniqueKeysWithValues: line.values.map { ($0.name, .string($0.text)) }))
    }

    /// Returns whether a request gets an entry: not what monitoring and waiting devices ask for all the time, unless it failed.
    private func isKept(_ report: RequestReport) -> Bool {
        // An operator who follows the log in the Console should not see only that.
        let isLooking = report.endpoint == .site && report.method != .post
        return !isLooking && !report.isFrequent || report.status >= 400
    }
}

extension Logger.Level {
    /// Creates the level of a line.
    package init(_ level: ReportLine.Level) {
        switch level {
        case .debug: self = .debug
        case .info: self = .info
        case .error: self = .error
        }
    }
}
