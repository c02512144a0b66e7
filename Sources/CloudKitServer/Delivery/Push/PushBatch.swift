import CloudKitModel
import CloudKitRecordLayer

/// Delivers the waiting notifications of a partition to every due address of its user, in the order of the queue.
///
/// Messages are sent between transactions. Their outcomes are written in one at the end, so that a crash repeats
/// messages and never skips one.
struct PushBatch: Sendable {
    let cloud: Cloud
    let services: [String: any PushService]
    let isCurrent: @Sendable (String) async throws -> Bool

    /// The remaining work.
    struct Result: Hashable, Sendable {
        /// A flag for users with an address.
        var hasAddresses = false
        var hasSent = false
        /// The time of the next visit, milliseconds since 1970; nil: nothing waits.
        var again: Int64?
    }

    /// Notifications processed for an address before their outcomes are written.
    private static let entriesAtOnce = 20

    func run(in partition: StoragePartition) async throws -> Result {
        guard let place = DatabaseContext(partition: partition), place.address.scope == .private else {
            return Result()
        }
        let (header, tokens) = try await cloud.store.read(partition) { view in
            (try await view.notificationQueueHeader(), try await view.pushTokens().filter { $0.destination != nil })
        }
        var result = Result(hasAddresses: !tokens.isEmpty)
        let now = cloud.serverEnvironment.now()
        let visits = try await withThrowingTaskGroup(of: PushAttempt?.self) { group in
            for token in tokens { group.addTask { try await visit(token, header: header, place: place, now: now) } }
            var visits: [PushAttempt] = []
            for try await visit in group { if let visit { visits.append(visit) } }
            return visits
        }
        if visits.contains(where: \.needsWrite) {
            // Also when the cloud stops: notifications that were sent need not be sent again.
            try await Task { try await keep(visits, in: partition, now) }.value
        }
        for visit in visits {
            result.hasSent = result.hasSent || visit.delivered > 0
            switch visit.end {
            case .caughtUp, .removed: break
            case .moreComing: result.again = now
            case .postponed(let failures, _): result.again = min(result.again ?? .max, failures.again)
            }
            let report = visit.report(in: place.address)
            if !report.isEmpty { cloud.notificationMetrics.record(.pushed(report)) }
        }
        return result
    }

    // MARK: One address

    /// nil: the service is switched off, and the address waits for better days.
    private func visit(
        _ token: PushToken, header: NotificationQueueHeader, place: DatabaseContext, now: Int64
    ) async throws -> PushAttempt? {
        guard let destination = token.destination, let service = services[destination.service] else { return nil }
        var visit = PushAttempt(token, destination)
        if !destination.sessionID.isEmpty, try await !isCurrent(destination.sessionID) {
            visit.end = .removed("signedOut")
            return visit
        }
        guard token.position < header.sequence || token.position < header.lost else { return visit }
        if let failures = destination.failures, PushBackoff.isPause(failures, now: now) {
            visit.end = .postponed(failures, nil)
            return visit
        }
        let seal = PushAddressSeal(cloud.serverEnvironment)
        guard let address = seal.open(destination.address, service: destination.service, in: place.partition) else {
            visit.end = .removed("unreadable")
            return visit
        }
        let (list, page) = try await waiting(for: token, header: header, place: place, now: now)
        for notification in list {
            // Another node sends it once this one is no longer sure to be the only one.
            if Task.isCancelled || !cloud.nodes.holds(.push) { return visit }
            let isVisible = PushNotification.isVisible(payload: notification.payload)
            guard isVisible || destination.takesSilent else {
                visit.drop(.silent, notification.sequence)
                continue
            }
            let left = notification.queued + cloud.limits.notifications.lifetime - now
            let outcome = await service.send(
                PushMessage(
                    payload: notification.payload, isVisible: isVisible, collapseKey: notification.collapseKey,
                    lifetime: Int(max(left, 0) / 1000)), to: address)
            guard visit.took(outcome, of: notification.sequence) else {
                // An attempt that ended because the cloud stops says nothing about the service.
                if case .tryAgain(let requestedDelay, let reason) = outcome, !Task.isCancelled {
                    postpone(&visit, earlier: destination.failures, requestedDelay: requestedDelay, reason: reason)
                }
                return visit
            }
        }
        visit.position = max(visit.position, page.position)
        if page.moreComing { visit.end = .moreComing }
        return visit
    }

    private func postpone(
        _ visit: inout PushAttempt, earlier: PushFailures?, requestedDelay: Int64?, reason: String
    ) {
        // Something got through meanwhile: this is the first failure of a new row.
        let failures = PushBackoff.failures(
            after: visit.delivered > 0 ? nil : earlier, requestedDelay: requestedDelay,
            now: cloud.serverEnvironment.now(),
            chance: cloud.serverEnvironment.random(1).first ?? 0)
        visit.end = failures.map { .postponed($0, reason) } ?? .removed(reason)
    }

    /// One notification that waits.
    private struct Waiting: Sendable {
        var sequence: UInt64
        var payload: StorageBytes
        var collapseKey: String
        /// Milliseconds since 1970.
        var queued: Int64
    }

    /// Returns the next notifications, and the position up to which the queue was read for them.
    private func waiting(
        for token: PushToken, header: NotificationQueueHeader, place: DatabaseContext, now: Int64
    ) async throws -> (list: [Waiting], page: NotificationPage) {
        let page = try await cloud.store.read(place.partition) { [limits = cloud.limits] view in
            try await view.notifications(
                for: token.device, after: max(token.position, header.lost), header: header,
                oldest: now - limits.notifications.lifetime, limit: Self.entriesAtOnce)
        }
        var list = page.notifications.map {
            Waiting(sequence: $0.sequence, payload: $0.payload, collapseKey: $0.collapseKey, queued: $0.queued)
        }
        if token.position < header.lost {
            let lost = PushNotification.lost(place.owner, place.address.container).payload()
            list.insert(Waiting(sequence: header.lost, payload: lost, collapseKey: "lost", queued: now), at: 0)
        }
        return (list, page)
    }

    // MARK: What came of it

    private func keep(_ visits: [PushAttempt], in partition: StoragePartition, _ now: Int64) async throws {
        try await cloud.store.write(partition) { transaction in
            for visit in visits where visit.needsWrite {
                guard var held = try await transaction.pushToken(visit.hash),
                    // Registered with another address meanwhile: that one knows nothing of this.
                    held.destination?.addressID == visit.addressID
                else { continue }
                held.position = max(held.position, visit.position)
                switch visit.end {
                case .removed:
                    try await PushTokenWriter(limits: cloud.limits).remove(held, &transaction)
                    continue
                case .postponed(let failures, _): held.destination?.failures = failures
                case .caughtUp, .moreComing: if visit.delivered > 0 { held.destination?.failures = nil }
                }
                transaction.set(held)
            }
        }
    }
}
