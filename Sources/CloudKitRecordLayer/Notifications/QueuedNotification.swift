import CloudKitModel
import OrderedStore

/// A notification that was decided, before it has a place in its receiver's queue.
package struct NotificationDraft: Hashable, Sendable {
    /// While it waits it takes the place of an earlier one with the same key (B-PSH-02, B-PSH-08).
    package var collapseKey: String
    /// The device that made the change: it needs no notification (B-PSH-01); nil if unknown.
    package var origin: String?
    /// JSON, as it leaves.
    package var payload: Bytes

    /// Creates a value with the given properties.
    package init(collapseKey: String, origin: String?, payload: Bytes) {
        self.collapseKey = collapseKey
        self.origin = origin
        self.payload = payload
    }
}

/// A notification in the queue of a user. Every device of the user reads the same queue, from its own position.
package struct QueuedNotification: Hashable, Sendable {
    /// Which device last had a part in it, and when.
    package struct Origin: Hashable, Sendable {
        /// nil: unknown, or several.
        package var device: String?
        /// The position in the queue.
        package var sequence: UInt64
    }

    /// The position in the queue.
    package var sequence: UInt64
    /// The key by which a newer notification replaces an older one.
    package var collapseKey: String
    /// Milliseconds since 1970.
    package var queued: Int64
    /// One for each device that caused this notification or one that it replaced.
    package var origins: [Origin]
    /// The payload, one JSON object.
    package var payload: Bytes

    /// More devices than these count as one unknown one.
    static let originsMax = 4

    init(_ draft: NotificationDraft, sequence: UInt64, queued: Int64, replacing old: QueuedNotification?) {
        self.sequence = sequence
        collapseKey = draft.collapseKey
        self.queued = queued
        payload = draft.payload
        origins = (old?.origins ?? []).filter { $0.device != draft.origin }
        origins.append(Origin(device: draft.origin, sequence: sequence))
        while origins.count > Self.originsMax {
            // They are in the order of their sequences, so the second is the newer of the two.
            origins[1].device = nil
            origins.removeFirst()
        }
    }

    /// Returns whether a device that has read up to `position` is notified: another device had a part in it since.
    package func concerns(device: String?, after position: UInt64) -> Bool {
        origins.contains { $0.sequence > position && ($0.device == nil || $0.device != device) }
    }

    static func key(_ sequence: UInt64) -> Bytes { KeyBuilder(.notification, capacity: 10).adding(sequence).bytes }

    static func collapseKey(_ key: String) -> Bytes { KeyBuilder(.notificationKey).adding(key).bytes }

    /// Reads the value under a collapse key.
    static func sequence(pointer bytes: Bytes) throws -> UInt64 {
        var value = ValueReader(bytes, of: .notificationKey)
        return try value.number()
    }

    private static let format: UInt8 = 1

    var value: Bytes {
        var value = ValueWriter(capacity: 64 + payload.count)
        value.add(byte: Self.format)
        value.add(collapseKey)
        value.add(queued)
        value.add(byte: UInt8(clamping: origins.count))
        for origin in origins {
            value.add(origin.device)
            value.add(origin.sequence)
        }
        value.add(payload)
        return value.bytes
    }

    init(sequence: UInt64, decoding bytes: Bytes) throws {
        var value = ValueReader(bytes, of: .notification)
        guard try value.byte() == Self.format else { throw DamagedValue(.notification) }
        self.sequence = sequence
        collapseKey = try value.text()
        queued = try value.number()
        let count = try value.byte()
        origins = []
        for _ in 0..<count {
            origins.append(Origin(device: try value.optionalText(), sequence: try value.number()))
        }
        payload = try value.string()
    }

    init(_ entry: Entry) throws {
        var key = KeyReader(entry.key, in: .notification)
        try self.init(sequence: try key.readVersion(), decoding: entry.value)
    }
}
