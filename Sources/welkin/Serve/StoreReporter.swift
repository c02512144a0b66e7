import CloudKitHTTP
import CloudKitServer
import Logging
import ServiceLifecycle

/// Reports damaged values and renewals of the store's epoch in the log and in the metrics, while the cloud runs.
struct StoreReporter: Service {
    var cloud: Cloud
    var metrics: RequestMetrics
    var logger: Logger

    private static let pause = Duration.seconds(1)
    /// Lines of one report; the number of damaged values is in the metrics and in `/health`.
    private static let linesMax = 20

    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                report()
                try? await Task.sleep(for: Self.pause)
            }
            report()
        }
    }

    private func report() {
        let reports = cloud.takeDamageReports()
        metrics.valuesDamaged(reports.count)
        for report in reports.prefix(Self.linesMax) {
            logger.error(
                "a stored value is damaged; find all damage with: welkin check",
                metadata: ["partition": .string(report.partition), "kind": .string(report.kind)])
        }
        let renewals = cloud.storeHistory.takeUnreported()
        metrics.epochsRenewed(renewals.count)
        for renewal in renewals {
            logger.error(
                "a new epoch of the store begins: every device fetches everything again",
                metadata: ["reason": .string(renewal.rawValue)])
        }
    }
}
