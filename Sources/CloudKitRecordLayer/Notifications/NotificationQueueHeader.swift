import OrderedStore

/// The state of a user's queue of notifications, in one value.
package struct NotificationQueueHeader: Hashable, Sendable {
    /// The place of the newest notification; never goes back.
    package var sequence: UInt64
    /// Notifications that wait.
    package var count: UInt32
    /// No waiting notification is older; milliseconds since 1970.
    package var oldest: Int64
    /// The newest notification that went because there were too many or it was too old; 0: none did.
    package var lost: UInt64
    /// Devices with a token, by the identifier they signed in with; nil for one without.
    package var devices: [String?]

    /// Creates the header of an empty queue.
    package init() {
        sequence = 0
        count = 0
        oldest = 0
        lost = 0
        devices = []
    }

    /// Whether a device other than the one that made a change waits for notifications of it.
    package func hasReceiver(besides origin: String?) -> Bool {
        devices.contains { $0 == nil || $0 != origin }
    }

    package static let key: Bytes = [Subspace.notificationQueue.rawValue]
    private static let format: UInt8 = 1

    var value: Bytes {
        var value = ValueWriter()
        value.add(byte: Self.format)
        value.add(sequence)
        value.add(count)
        value.add(oldest)
        value.add(lost)
        value.add(UInt16(clamping: devices.count))
        for device in devices { value.add(device) }
        return value.bytes
    }

    init(decoding bytes: Bytes) throws {
        var value = ValueReader(bytes, of: .notificationQueue)
        guard try value.byte() == Self.format else { throw DamagedValue(.notificationQueue) }
        sequence = try value.number()
        count = try value.number()
        oldest = try value.number()
        lost = try value.number()
        let count = Int(try value.number(UInt16.self))
        devices = []
        for _ in 0..<count { devices.append(try value.optionalText()) }
    }
}

extension Reading {
    /// The header of the queue in this partition; a fresh one where there is no queue.
    package func notificationQueueHeader() async throws -> NotificationQueueHeader {
        try await get(NotificationQueueHeader.key).map(NotificationQueueHeader.init(decoding:))
            ?? NotificationQueueHeader()
    }
}

extension WriteTransaction {
    /// Writes the header.
    package mutating func set(_ header: NotificationQueueHeader) { set(NotificationQueueHeader.key, header.value) }
}
