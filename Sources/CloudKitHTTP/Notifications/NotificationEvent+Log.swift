import CloudKitLogs
import CloudKitModel
import CloudKitServer

extension LogEntry {
    /// Creates the entry of an event of notifications: counts and reasons, never content. `itemsIn` were decided, `itemsOut` given away,
    /// `itemsFailed` dropped.
    ///
    /// - Parameter now: Milliseconds since 1970.
    init(_ event: NotificationEvent, now: @Sendable () -> Int64) {
        self.init(id: LogID(milliseconds: now()), kind: .push, operation: "")
        switch event {
        case .decided(let report):
            operation = "decided"
            setPlace(report.place.address)
            itemsIn = report.decided
            drop(report.dropped)
        case .carried(let address, let count, let dropped):
            operation = "carried"
            setPlace(address)
            itemsOut = count
            if dropped > 0 { drop([.noOtherDevice: dropped]) }
        case .sent(let container, let environment, let count):
            operation = "sent"
            self.container = container.name
            self.environment = environment.rawValue
            itemsOut = count
        case .pushed(let report):
            operation = "pushed"
            container = report.container.name
            environment = report.environment.rawValue
            itemsOut = report.delivered
            drop(report.dropped)
            var attributes = details?.attributes ?? [:]
            attributes["service"] = report.service
            attributes["postponed"] = report.postponed
            attributes["addressRemoved"] = report.removed
            details = LogDetails(attributes: attributes)
        case .pushFailed(let error):
            operation = "pushFailed"
            details = LogDetails(attributes: ["error": error])
        }
    }

    private mutating func setPlace(_ address: DatabaseAddress) {
        container = address.container.name
        environment = address.environment.rawValue
        database = address.scope.word
    }

    private mutating func drop(_ counts: [NotificationDropReason: Int]) {
        guard !counts.isEmpty else { return }
        itemsFailed = counts.values.reduce(0, +)
        code = counts.max { ($0.value, $0.key.rawValue) < ($1.value, $1.key.rawValue) }?.key.rawValue
        details = LogDetails(
            attributes: Dictionary(
                uniqueKeysWithValues: counts.map { ("dropped.\($0.key.rawValue)", String($0.value)) }))
    }
}
