import CloudKitServer
import CoreMetrics
import Synchronization

/// The metrics of notifications.
final class NotificationCounters: Sendable {
    private let factory: any MetricsFactory
    private let decided: Counter
    private let sent: Counter
    private let dropped: [NotificationDropReason: Counter]

    init(_ factory: any MetricsFactory) {
        self.factory = factory
        decided = Counter(label: "welkin_notifications_decided_total", factory: factory)
        sent = Counter(label: "welkin_notifications_sent_total", factory: factory)
        var counters: [NotificationDropReason: Counter] = [:]
        for reason in NotificationDropReason.allCases {
            counters[reason] = Counter(
                label: "welkin_notifications_dropped_total", dimensions: [("reason", reason.rawValue)],
                factory: factory)
        }
        dropped = counters
    }

    /// Counts the outcomes that an event reports.
    func record(_ event: NotificationEvent) {
        switch event {
        case .decided(let report):
            decided.increment(by: report.decided)
            drop(report.dropped)
        case .carried(_, _, let lost): drop([.noOtherDevice: lost])
        case .sent(_, _, let count): sent.increment(by: count)
        case .pushed(let report):
            sent.increment(by: report.delivered)
            drop(report.dropped)
            if report.postponed != nil { increment("welkin_push_postponed_total", service: report.service) }
            if report.removed != nil { increment("welkin_push_addresses_removed_total", service: report.service) }
        case .pushFailed: return
        }
    }

    private func drop(_ counts: [NotificationDropReason: Int]) {
        for (reason, count) in counts { dropped[reason]?.increment(by: count) }
    }

    private func increment(_ name: String, service: String) {
        Counter(label: name, dimensions: [("service", service)], factory: factory).increment()
    }

    static let families = [
        MetricFamily(
            name: "welkin_notifications_decided_total", kind: .counter,
            help: "Subscriptions that changes have met."),
        MetricFamily(
            name: "welkin_notifications_sent_total", kind: .counter, help: "Notifications that devices were given."),
        MetricFamily(
            name: "welkin_notifications_dropped_total", kind: .counter,
            help: "Notifications that went nowhere, by reason.", isSorted: false),
        MetricFamily(
            name: "welkin_push_postponed_total", kind: .counter,
            help: "Attempts of push services that failed and are repeated."),
        MetricFamily(
            name: "welkin_push_addresses_removed_total", kind: .counter,
            help: "Addresses of push services that were let go."),
    ]
}
