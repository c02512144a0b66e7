import CloudKitModel
import CloudKitRecordLayer

/// The result of one delivery attempt to one address.
struct PushAttempt: Sendable {
    enum End: Hashable, Sendable {
        case caughtUp
        case moreComing
        /// - Parameter reason: Why; nil: it was postponed before.
        case postponed(PushFailures, String?)
        case removed(String)
    }

    let hash: StorageBytes
    let addressID: StorageBytes
    let service: String
    /// The position of the address before.
    private let start: UInt64
    var position: UInt64
    private(set) var delivered = 0
    private(set) var dropped: [NotificationDropReason: Int] = [:]
    var end = End.caughtUp

    init(_ token: PushToken, _ destination: PushDestination) {
        hash = token.hash
        addressID = destination.addressID
        service = destination.service
        start = token.position
        position = token.position
    }

    var needsWrite: Bool {
        switch end {
        case .removed, .postponed(_, _?): true
        default: position > start
        }
    }

    mutating func drop(_ reason: NotificationDropReason, _ sequence: UInt64) {
        dropped[reason, default: 0] += 1
        position = sequence
    }

    /// - Returns: Whether the next one can go.
    mutating func took(_ outcome: PushOutcome, of sequence: UInt64) -> Bool {
        switch outcome {
        case .delivered:
            delivered += 1
            position = sequence
            return true
        case .refused:
            drop(.refused, sequence)
            return true
        case .gone(let reason):
            end = .removed(reason)
            return false
        case .tryAgain: return false
        }
    }

    func report(in address: DatabaseAddress) -> PushReport {
        var report = PushReport(container: address.container, environment: address.environment, service: service)
        report.delivered = delivered
        report.dropped = dropped
        if case .postponed(_, let reason) = end { report.postponed = reason }
        if case .removed(let reason) = end { report.removed = reason }
        return report
    }
}
