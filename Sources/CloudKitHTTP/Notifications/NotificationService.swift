import CloudKitLogs
import CloudKitModel
import CloudKitServer
import Logging
import ServiceLifecycle

/// Delivers notifications while the cloud listens, and reports their fate to the log and the metrics.
struct NotificationService: Service {
    private let delivery: NotificationDelivery
    private let logger: Logger

    init(
        cloud: Cloud, transports: [any NotificationTransport], metrics: NotificationCounters, logger: Logger,
        log: LogBuffer? = nil
    ) {
        delivery = NotificationDelivery(cloud: cloud, transports: transports)
        self.logger = logger
        let now = cloud.serverEnvironment.now
        cloud.notificationMetrics.listen { event in
            metrics.record(event)
            logger.info("notifications", metadata: event.metadata)
            log?.add(LogEntry(event, now: now))
        }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { [delivery, logger] in
            await delivery.run { error in
                logger.warning(
                    "notifications could not be carried; they will be tried again",
                    metadata: ["error": .string(String(describing: error))])
            }
        }
    }
}

extension NotificationEvent {
    /// Counts and reasons; never the content of a notification.
    fileprivate var metadata: Logger.Metadata {
        switch self {
        case .decided(let report):
            var metadata = Self.place(report.place.address)
            metadata["decided"] = .stringConvertible(report.decided)
            for (reason, count) in report.dropped { metadata["dropped.\(reason.rawValue)"] = .stringConvertible(count) }
            return metadata
        case .carried(let address, let count, let dropped):
            var metadata = Self.place(address)
            metadata["carried"] = .stringConvertible(count)
            if dropped > 0 {
                metadata["dropped.\(NotificationDropReason.noOtherDevice.rawValue)"] = .stringConvertible(dropped)
            }
            return metadata
        case .sent(let container, let environment, let count):
            return [
                "container": .string(container.name), "environment": .string(environment.rawValue),
                "sent": .stringConvertible(count),
            ]
        case .pushed(let report):
            var metadata: Logger.Metadata = [
                "container": .string(report.container.name), "environment": .string(report.environment.rawValue),
                "service": .string(report.service), "sent": .stringConvertible(report.delivered),
            ]
            for (reason, count) in report.dropped { metadata["dropped.\(reason.rawValue)"] = .stringConvertible(count) }
            if let reason = report.postponed { metadata["postponed"] = .string(reason) }
            if let reason = report.removed { metadata["address.removed"] = .string(reason) }
            return metadata
        case .pushFailed(let error): return ["push.failed": .string(error)]
        }
    }

    private static func place(_ address: DatabaseAddress) -> Logger.Metadata {
        [
            "container": .string(address.container.name), "environment": .string(address.environment.rawValue),
            "database": .string(address.scope.word),
        ]
    }
}
