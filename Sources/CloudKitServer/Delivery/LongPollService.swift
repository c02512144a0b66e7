import CloudKitModel
import CloudKitRecordLayer
import Synchronization

/// Gives notifications to devices that keep asking: a request waits until there is something, or its time is over.
///
/// A device that waits costs an entry here, and no task. One clock ends all waits; a commit wakes the devices of its
/// partition's user only.
package final class LongPollService: NotificationTransport {
    /// The notifications that a device receives.
    package struct Delivery: Hashable, Sendable {
        /// Payloads, oldest first.
        package var payloads: [[UInt8]]
        /// The value that the device sends with its next request to confirm these notifications.
        package var position: String
    }

    private let cloud: Cloud
    private let addressSeal: LongPollAddressSeal
    private let hold: Duration
    private let isCurrent: @Sendable (String) async throws -> Bool
    private let waiting = LongPollWaiters()
    private let positions = LongPollPositions()
    private let isDraining = Atomic(false)

    /// - Parameters:
    ///   - hold: How long a request waits.
    ///   - isCurrent: Whether the session with this identifier still lasts.
    package init(
        cloud: Cloud, hold: Duration = .seconds(25),
        isCurrent: @escaping @Sendable (String) async throws -> Bool = { _ in true }
    ) {
        self.cloud = cloud
        addressSeal = LongPollAddressSeal(cloud.serverEnvironment)
        self.hold = hold
        self.isCurrent = isCurrent
    }

    /// Requests that wait at this moment.
    package var waitingCount: Int { waiting.count }

    /// Begins the request of a device; it ends with the `read` that returns something or throws.
    ///
    /// - Parameters:
    ///   - path: The last part of the long-poll URL.
    ///   - confirmed: The position that the device confirms, from the previous answer; nil: a web client, which
    ///     confirms the last answer by asking again.
    ///   - max: The most payloads of one answer.
    /// - Throws: `itemNotFound` for a URL that is no longer valid: the device asks for a new token.
    package func begin(_ path: some StringProtocol, confirmed: String?, max: Int) throws -> LongPoll {
        guard let address = addressSeal.open(path) else { throw Self.unknownAddress }
        let hold = isDraining.load(ordering: .acquiring) ? Self.drainingHold : hold
        return LongPoll(
            address: address, confirmed: confirmed, max: max, ends: cloud.serverEnvironment.uptime() + hold,
            stamp: waiting.enter(address.partition))
    }

    /// Returns the notifications for a device, none if its time is over; nil if the request has to wait.
    ///
    /// - Parameter isConnected: Returns whether the client is still connected; notifications are not spent on one that left.
    /// - Throws: `itemNotFound` for a URL that is no longer valid.
    package func read(_ poll: inout LongPoll, isConnected: @Sendable () -> Bool = { true }) async throws -> Delivery? {
        if poll.isOver {
            waiting.leave(poll.address.partition)
            return Delivery(payloads: [], position: text(poll.position))
        }
        do {
            let delivery = try await delivery(for: &poll, isConnected)
            if delivery != nil { waiting.leave(poll.address.partition) }
            return delivery
        } catch {
            waiting.leave(poll.address.partition)
            throw error
        }
    }

    /// Calls a function, on any thread, once the queue may have something for a request that waits or its time is over.
    ///
    /// - Returns: The number of the wait, by which it can be ended.
    @discardableResult
    package func wait(_ poll: LongPoll, then resume: @escaping @Sendable (LongPoll) -> Void) -> UInt64 {
        // Two web clients would confirm for each other; processes of one device say what each of them has.
        let max = poll.confirmed == nil ? 1 : Self.processesMax
        return waiting.wait(
            poll.address, after: poll.stamp, until: poll.ends, now: cloud.serverEnvironment.uptime(), sharedBy: max
        ) { outcome in
            var poll = poll
            switch outcome {
            case .woken(let stamp): poll.stamp = stamp
            case .over: poll.isOver = true
            }
            resume(poll)
        }
    }

    /// Waits until the queue may have something for a request, its time is over or the task is cancelled.
    package func ended(_ poll: LongPoll) async -> LongPoll {
        let id = Mutex<UInt64?>(nil)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let wait = wait(poll) { continuation.resume(returning: $0) }
                id.withLock { $0 = wait }
                // Cancelled before the number was known.
                if Task.isCancelled { waiting.end(wait, in: poll.address.partition) }
            }
        } onCancel: {
            if let wait = id.withLock({ $0 }) { waiting.end(wait, in: poll.address.partition) }
        }
    }

    /// Returns the next notifications of a device; none if none arrive within the waiting time of a request. The task waits; one that is
    /// cancelled waits no longer.
    package func next(
        _ path: some StringProtocol, confirmed: String?, max: Int, isConnected: @Sendable () -> Bool = { true }
    ) async throws -> Delivery {
        var poll = try begin(path, confirmed: confirmed, max: max)
        while true {
            if let delivery = try await read(&poll, isConnected: isConnected) { return delivery }
            poll = await ended(poll)
        }
    }

    private func delivery(for poll: inout LongPoll, _ isConnected: @Sendable () -> Bool) async throws -> Delivery? {
        let address = poll.address
        // Checked again after each wait: a user who was signed out meanwhile receives nothing.
        if !address.sessionID.isEmpty, try await !isCurrent(address.sessionID) { throw Self.unknownAddress }
        let has = poll.confirmed.map { QueuePosition.read($0, epoch: cloud.store.epoch) }
        let page = try await page(address, confirmed: has, max: poll.max)
        if !page.payloads.isEmpty {
            guard isConnected() else { return Delivery(payloads: [], position: text(page.start)) }
            if poll.confirmed == nil { try await gave(page, to: address) }
            cloud.notificationMetrics.record(
                .sent(address.container, address.environment, count: page.payloads.count))
            return Delivery(payloads: page.payloads, position: text(page.position))
        }
        if poll.confirmed == nil, !cloud.nodes.isShared { positions.gave(address.hash, up: page.position) }
        poll.position = page.position
        return nil
    }

    /// Wakes the requests that wait for the partition's queue.
    package func deliver(in partition: StoragePartition) async {
        guard waiting.isAwaited(partition) else { return }
        // A hint may be of any change: only one of the queue wakes.
        let header = try? await cloud.store.read(partition) { try await $0.notificationQueueHeader() }
        if let header { waiting.wake(partition, upTo: header.sequence) }
    }

    /// Ends waits whose time is over, until the task is cancelled.
    package func run() async {
        while (try? await cloud.serverEnvironment.sleep(.seconds(1))) != nil {
            waiting.end(before: cloud.serverEnvironment.uptime())
        }
        close()
    }

    /// Ends all waits, and lets later ones wait for a moment only: the devices ask again, at another node if there is one.
    package func drain() {
        isDraining.store(true, ordering: .releasing)
        waiting.end(before: .seconds(Int64.max))
    }

    /// Ends all waits; later requests do not wait.
    package func close() { waiting.close() }

    private static let unknownAddress = RequestFailure(
        .itemNotFound, "this notification URL is not, or no longer, valid", remedy: "Create a token.")

    // MARK: Positions

    private func text(_ position: UInt64) -> String { QueuePosition.text(position, epoch: cloud.store.epoch) }

    /// Remembers what a web client is given, which its next request confirms. That may come to another node, so that where there are several
    /// the position is stored before the answer.
    private func gave(_ page: Page, to address: LongPollAddress) async throws {
        guard cloud.nodes.isShared else { return positions.gave(address.hash, up: page.position) }
        try await keep(page.position, address: address, now: cloud.serverEnvironment.now())
    }

    private func keep(_ position: UInt64, address: LongPollAddress, now: Int64) async throws {
        try await cloud.store.write(address.partition) { transaction in
            guard var held = try await transaction.pushToken(address.hash) else { throw Self.unknownAddress }
            held.position = max(held.position, position)
            held.seen = now
            transaction.set(held)
        }
    }

    // MARK: Reading

    private struct Page: Sendable {
        /// The position that the device has confirmed.
        var start: UInt64
        var payloads: [[UInt8]] = []
        /// The position after these payloads.
        var position: UInt64
        var token: PushToken
    }

    /// Returns the next notifications of a device, and stores its position when that is due.
    private func page(_ address: LongPollAddress, confirmed: UInt64?, max: Int) async throws -> Page {
        let now = cloud.serverEnvironment.now()
        let known = confirmed ?? (cloud.nodes.isShared ? nil : positions.confirmed(address.hash))
        let page = try await cloud.store.read(address.partition) { [limits = cloud.limits] view in
            // Notifications that a push service sends are not available here as well: one would confirm for the other.
            guard let token = try await view.pushToken(address.hash), token.destination == nil else {
                throw Self.unknownAddress
            }
            let start = known ?? token.position
            var page = Page(start: start, position: start, token: token)
            try await Self.fill(&page, address: address, view, oldest: now - limits.notifications.lifetime, max: max)
            return page
        }
        let isDue = QueuePositionWriteDecision.isDue(
            seen: page.token.seen, held: page.token.position, position: page.start, now: now)
        if isDue { try await keep(page.start, address: address, now: now) }
        return page
    }

    /// Adds the notifications after the page's position that concern the device.
    private static func fill(
        _ page: inout Page, address: LongPollAddress, _ view: StorageReader, oldest: Int64, max: Int
    ) async throws {
        let header = try await view.notificationQueueHeader()
        if page.position < header.lost {
            page.payloads.append(PushNotification.lost(address.user, address.container).payload())
            page.position = header.lost
            if max == 1 { return }
        }
        while true {
            let found = try await view.notifications(
                for: page.token.device, after: page.position, header: header, oldest: oldest, limit: entriesAtOnce)
            for notification in found.notifications {
                page.payloads.append(notification.payload)
                page.position = notification.sequence
                if page.payloads.count == max { return }
            }
            page.position = found.position
            if !found.moreComing { return }
        }
    }

    /// How long a request waits at a node that is about to stop: long enough that devices do not ask all the time.
    private static let drainingHold = Duration.milliseconds(500)
    private static let entriesAtOnce = 100
    private static let processesMax = 8
}
