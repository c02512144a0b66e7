import CloudKitModel
import Synchronization

/// The decisions of one transaction about notifications.
package struct NotificationReport: Hashable, Sendable {
    /// The database of the transaction.
    package var place: DatabaseContext
    /// Subscriptions that matched.
    package var decided: Int
    /// Notifications that were not sent, by reason.
    package var dropped: [NotificationDropReason: Int]

    var isEmpty: Bool { decided == 0 && dropped.isEmpty }
}

/// Collects reports of a transaction's body, which may run more than once: only those of the last run count.
final class NotificationBuffer: Sendable {
    private let held = Mutex<[NotificationReport]>([])

    func begin() { held.withLock { $0 = [] } }

    func add(_ report: NotificationReport) {
        if !report.isEmpty { held.withLock { $0.append(report) } }
    }

    var reports: [NotificationReport] { held.withLock { $0 } }
}

/// The fate of notifications, for the operator's log and metrics, without their content.
package enum NotificationEvent: Hashable, Sendable {
    /// A commit matched subscriptions.
    case decided(NotificationReport)
    /// Notifications about another partition's changes reached their receivers' queues.
    case carried(DatabaseAddress, count: Int, dropped: Int)
    /// A device was given notifications.
    case sent(ContainerID, Environment, count: Int)
    /// A push service was given notifications for one device, or was to be.
    case pushed(PushReport)
    /// The queue of a user whose notifications are pushed could not be read or written; it will be tried again.
    ///
    /// - Parameter error: Its type.
    case pushFailed(error: String)
}

/// The fate of notifications for one address of a push service. The reasons are the service's fixed words.
package struct PushReport: Hashable, Sendable {
    /// The container of the user.
    package var container: ContainerID
    /// The environment of the container.
    package var environment: Environment
    /// The name of the push service.
    package var service: String
    /// Messages that the service took.
    package var delivered = 0
    /// Notifications that were not sent, by reason.
    package var dropped: [NotificationDropReason: Int] = [:]
    /// The reason why the rest is tried again later.
    package var postponed: String?
    /// The reason why the address was removed.
    package var removed: String?

    /// Creates an event in which nothing was delivered, dropped, postponed or removed.
    package init(container: ContainerID, environment: Environment, service: String) {
        self.container = container
        self.environment = environment
        self.service = service
    }

    var isEmpty: Bool { delivered == 0 && dropped.isEmpty && postponed == nil && removed == nil }
}

/// Notifications counted since the cloud started.
package struct NotificationCounts: Hashable, Sendable {
    /// Subscriptions that matched.
    package var decided = 0
    /// Notifications that devices or services took.
    package var sent = 0
    /// Notifications that were not sent, by reason.
    package var dropped: [NotificationDropReason: Int] = [:]
    /// Attempts of push services that failed and are repeated, by service.
    package var postponed: [String: Int] = [:]
    /// Addresses of push services that were removed, by service.
    package var removed: [String: Int] = [:]

    /// Creates counters at zero.
    package init() {}
}

/// Counts notifications and reports their fate to a listener.
package final class NotificationMetrics: Sendable {
    private let state = Mutex(State())

    private struct State {
        var counts = NotificationCounts()
        var listener: (@Sendable (NotificationEvent) -> Void)?
    }

    init() {}

    /// The counts since the cloud started.
    package var counts: NotificationCounts { state.withLock { $0.counts } }

    /// Reports every event to `listener` from now on, in place of an earlier listener.
    package func listen(_ listener: @escaping @Sendable (NotificationEvent) -> Void) {
        state.withLock { $0.listener = listener }
    }

    func record(_ event: NotificationEvent) {
        let listener = state.withLock { state in
            state.counts.count(event)
            return state.listener
        }
        listener?(event)
    }

    func record(_ buffer: NotificationBuffer) {
        for report in buffer.reports { record(.decided(report)) }
    }
}

extension NotificationCounts {
    fileprivate mutating func count(_ event: NotificationEvent) {
        switch event {
        case .decided(let report):
            decided += report.decided
            dropped.merge(report.dropped, uniquingKeysWith: +)
        case .carried(_, _, let lost): if lost > 0 { dropped[.noOtherDevice, default: 0] += lost }
        case .sent(_, _, let count): sent += count
        case .pushed(let report):
            sent += report.delivered
            dropped.merge(report.dropped, uniquingKeysWith: +)
            if report.postponed != nil { postponed[report.service, default: 0] += 1 }
            if report.removed != nil { removed[report.service, default: 0] += 1 }
        case .pushFailed: return
        }
    }
}
