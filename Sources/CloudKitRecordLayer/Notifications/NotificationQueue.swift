import OrderedStore

/// The limits of a queue of notifications.
package struct NotificationQueueLimits: Hashable, Sendable {
    /// Notifications of one user that wait; of more, the oldest go.
    package var countMax: Int
    /// Milliseconds that a notification waits at most.
    package var lifetime: Int64

    /// Creates a value with the given properties.
    package init(countMax: Int = 500, lifetime: Int64 = 7 * 86_400_000) {
        self.countMax = countMax
        self.lifetime = lifetime
    }
}

/// Puts notifications into the queue of a partition's user, inside one transaction.
package struct NotificationEnqueuer: Sendable {
    private let limits: NotificationQueueLimits
    private let now: Int64
    private var header: NotificationQueueHeader

    /// - Parameters:
    ///   - header: As the transaction sees it.
    ///   - now: Milliseconds since 1970.
    package init(_ header: NotificationQueueHeader, limits: NotificationQueueLimits, now: Int64) {
        self.header = header
        self.limits = limits
        self.now = now
    }

    /// Queues drafts in their order, each in place of the one with its collapse key, and removes entries that are too old
    /// or too many.
    package mutating func enqueue(_ drafts: [NotificationDraft], _ transaction: inout WriteTransaction) async throws {
        if drafts.isEmpty { return }
        for draft in drafts { try await enqueue(draft, &transaction) }
        try await trim(&transaction)
        transaction.set(header)
    }

    private mutating func enqueue(_ draft: NotificationDraft, _ transaction: inout WriteTransaction) async throws {
        let pointer = QueuedNotification.collapseKey(draft.collapseKey)
        let old = try await held(at: pointer, transaction)
        if let old {
            transaction.clear(QueuedNotification.key(old.sequence))
        } else {
            if header.count == 0 { header.oldest = now }
            header.count += 1
        }
        header.sequence += 1
        let queued = QueuedNotification(draft, sequence: header.sequence, queued: now, replacing: old)
        transaction.set(QueuedNotification.key(queued.sequence), queued.value)
        var value = ValueWriter(capacity: 8)
        value.add(queued.sequence)
        transaction.set(pointer, value.bytes)
    }

    private func held(at pointer: Bytes, _ transaction: WriteTransaction) async throws -> QueuedNotification? {
        guard let bytes = try await transaction.get(pointer) else { return nil }
        let sequence = try QueuedNotification.sequence(pointer: bytes)
        return try await transaction.get(QueuedNotification.key(sequence)).map {
            try QueuedNotification(sequence: sequence, decoding: $0)
        }
    }

    private mutating func trim(_ transaction: inout WriteTransaction) async throws {
        while Int(header.count) > limits.countMax || (header.count > 0 && header.oldest + limits.lifetime <= now) {
            let excess = max(0, Int(header.count) - limits.countMax)
            let entries = try await transaction.scan(Subspace.notification.range, limit: excess + 16)
            let oldest = try entries.map(QueuedNotification.init)
            let gone = oldest.enumerated().prefix { $0 < excess || $1.queued + limits.lifetime <= now }.map(\.element)
            for notification in gone {
                transaction.clear(QueuedNotification.key(notification.sequence))
                transaction.clear(QueuedNotification.collapseKey(notification.collapseKey))
                header.lost = max(header.lost, notification.sequence)
            }
            header.count = oldest.isEmpty ? 0 : header.count - min(header.count, UInt32(gone.count))
            header.oldest = gone.count < oldest.count ? oldest[gone.count].queued : header.oldest
            if gone.isEmpty { return }
        }
    }
}

/// The notifications that one read of a queue found for one device.
package struct NotificationPage: Hashable, Sendable {
    /// The notifications, oldest first.
    package var notifications: [QueuedNotification]
    /// Up to where the queue was read; the device's position once it has these.
    package var position: UInt64
    /// Whether notifications that the device never got are gone.
    package var hasLost: Bool
    /// Whether the queue goes on.
    package var moreComing: Bool
}

extension Reading {
    /// Returns the next notifications for a device.
    ///
    /// - Parameters:
    ///   - position: The position up to which the device has read.
    ///   - limit: Entries of the queue to be looked at.
    ///   - oldest: Notifications queued before are skipped, milliseconds since 1970.
    package func notifications(
        for device: String?, after position: UInt64, header: NotificationQueueHeader, oldest: Int64, limit: Int
    ) async throws -> NotificationPage {
        var range = Subspace.notification.range
        range.lower = QueuedNotification.key(position + 1)
        let read = try await scan(range, limit: limit).map(QueuedNotification.init)
        let moreComing = read.count == limit
        return NotificationPage(
            notifications: read.filter { $0.queued >= oldest && $0.concerns(device: device, after: position) },
            position: moreComing ? read.last?.sequence ?? position : max(position, header.sequence),
            hasLost: position < header.lost, moreComing: moreComing)
    }
}
