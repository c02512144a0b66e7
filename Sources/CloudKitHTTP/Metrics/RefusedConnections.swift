import Logging
import Synchronization

/// Reports connections that were closed so that others can be kept or accepted: each to the metrics, and once a minute at most to the
/// log.
final class RefusedConnections: Sendable {
    private let metrics: RequestMetrics
    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    private let unreported = Mutex(Unreported())

    private struct Unreported {
        var count = 0
        var next: ContinuousClock.Instant?
    }

    private static let pause = Duration.seconds(60)

    init(
        metrics: RequestMetrics, logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.metrics = metrics
        self.logger = logger
        self.now = now
    }

    func record(_ reason: ChannelLimiter.Refusal) {
        metrics.connectionRefused(reason)
        let now = now()
        let count = unreported.withLock { unreported -> Int? in
            unreported.count += 1
            if let next = unreported.next, now < next { return nil }
            defer { unreported = Unreported(next: now + Self.pause) }
            return unreported.count
        }
        guard let count else { return }
        logger.warning(
            "too many connections",
            metadata: ["closed": .stringConvertible(count), "reason": .string(reason.rawValue)])
    }
}
