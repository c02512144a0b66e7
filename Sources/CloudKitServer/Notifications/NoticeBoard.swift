import CloudKitModel
import Synchronization

/// What one transaction decided about notifications.
package struct NoticeReport: Hashable, Sendable {
    package var place: DatabasePlace
    /// Subscriptions that were met.
    package var decided: Int
    package var dropped: [NoticeDrop: Int]

    var isEmpty: Bool { decided == 0 && dropped.isEmpty }
}

/// Takes reports out of a transaction's body, which may run more than once: only those of the last run count.
final class NoticeSink: Sendable {
    private let held = Mutex<[NoticeReport]>([])

    func begin() { held.withLock { $0 = [] } }

    func add(_ report: NoticeReport) {
        if !report.isEmpty { held.withLock { $0.append(report) } }
    }

    var reports: [NoticeReport] { held.withLock { $0 } }
}

/// What became of notifications, for the operator's log and metrics. Never what is in them.
package enum NoticeEvent: Hashable, Sendable {
    /// A commit met subscriptions.
    case decided(NoticeReport)
    /// Notifications about another partition's changes reached their receivers' queues.
    case carried(DatabaseAddress, count: Int, dropped: Int)
    /// A device was given notifications.
    case sent(ContainerID, Environment, count: Int)
    /// A push service was given notifications for one device, or was to be.
    case pushed(PushReport)
    /// The queue of somebody whose notifications are pushed could not be read or written; it will be tried again.
    ///
    /// - Parameter error: Its type.
    case pushFailed(error: String)
}

/// What became of notifications for one address of a push service. The reasons are the service's fixed words.
package struct PushReport: Hashable, Sendable {
    package var container: ContainerID
    package var environment: Environment
    package var service: String
    package var delivered = 0
    package var dropped: [NoticeDrop: Int] = [:]
    /// Why what is left is tried again later.
    package var postponed: String?
    /// Why the address was let go.
    package var removed: String?

    package init(container: ContainerID, environment: Environment, service: String) {
        self.container = container
        self.environment = environment
        self.service = service
    }

    var isEmpty: Bool { delivered == 0 && dropped.isEmpty && postponed == nil && removed == nil }
}

/// Notifications counted since the cloud started.
package struct NoticeCounts: Hashable, Sendable {
    package var decided = 0
    package var sent = 0
    package var dropped: [NoticeDrop: Int] = [:]
    /// Attempts of push services that failed and are repeated, by service.
    package var postponed: [String: Int] = [:]
    /// Addresses of push services that were let go, by service.
    package var removed: [String: Int] = [:]

    package init() {}
}

/// Where the cloud tells what becomes of notifications.
package final class NoticeBoard: Sendable {
    private let state = Mutex(State())

    private struct State {
        var counts = NoticeCounts()
        var listener: (@Sendable (NoticeEvent) -> Void)?
    }

    init() {}

    package var counts: NoticeCounts { state.withLock { $0.counts } }

    /// Has every event told to `listener` from now on, in place of an earlier listener.
    package func listen(_ listener: @escaping @Sendable (NoticeEvent) -> Void) {
        state.withLock { $0.listener = listener }
    }

    func tell(_ event: NoticeEvent) {
        let listener = state.withLock { state in
            state.counts.count(event)
            return state.listener
        }
        listener?(event)
    }

    func tell(_ sink: NoticeSink) {
        for report in sink.reports { tell(.decided(report)) }
    }
}

extension NoticeCounts {
    fileprivate mutating func count(_ event: NoticeEvent) {
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
