import CloudKitModel
import OrderedStore

/// A notification for the queue of another user than the partition's owner: a job in its outbox.
package struct CrossPartitionNotification: Hashable, Sendable {
    /// The order of jobs, and their identity.
    package var version: UInt64
    /// The notification or change to deliver.
    package var content: Content

    /// The kinds of content.
    package enum Content: Hashable, Sendable {
        /// Decided altogether, for one user.
        case draft(NotificationDraft, receiver: UserID)
        /// Something changed in a zone that is shared: which subscriptions that meets, the partitions of those know who take
        /// part.
        case sharedChange(SharedZoneChange)
    }

    /// Creates a value with the given properties.
    package init(version: UInt64, content: Content) {
        self.version = version
        self.content = content
    }

    static func key(_ version: UInt64) -> Bytes {
        KeyBuilder(.crossPartitionNotification, capacity: 10).adding(version).bytes
    }

    static func deliveredKey(_ partition: Partition) -> Bytes {
        KeyBuilder(.deliveredVersion).adding(partition.name).bytes
    }

    static func delivered(_ bytes: Bytes) throws -> UInt64 {
        var value = ValueReader(bytes, of: .deliveredVersion)
        return try value.number()
    }

    /// The first byte of a value, which is its kind.
    private enum Format: UInt8 {
        case draft = 1
        case sharedChange = 2
    }

    /// Follows the receiver of a draft, as it always did.
    private static let draftMark: UInt8 = 1

    var value: Bytes {
        var value = ValueWriter(capacity: 256)
        switch content {
        case .draft(let draft, let receiver):
            value.add(byte: Format.draft.rawValue)
            value.add(receiver.recordName)
            value.add(byte: Self.draftMark)
            value.add(draft.collapseKey)
            value.add(draft.origin)
            value.add(draft.payload)
        case .sharedChange(let change):
            value.add(byte: Format.sharedChange.rawValue)
            change.encode(into: &value)
        }
        return value.bytes
    }

    init(_ entry: Entry) throws {
        var key = KeyReader(entry.key, in: .crossPartitionNotification)
        var value = ValueReader(entry.value, of: .crossPartitionNotification)
        version = try key.readVersion()
        switch Format(rawValue: try value.byte()) {
        case .draft:
            let receiver = UserID(try value.text())
            guard try value.byte() == Self.draftMark else { throw DamagedValue(.crossPartitionNotification) }
            let draft = NotificationDraft(
                collapseKey: try value.text(), origin: try value.optionalText(), payload: try value.string())
            content = .draft(draft, receiver: receiver)
        case .sharedChange: content = .sharedChange(try SharedZoneChange(reading: &value))
        case nil: throw DamagedValue(.crossPartitionNotification)
        }
    }
}

extension Reading {
    /// The oldest notifications that wait to be carried out of this partition.
    package func crossPartitionNotifications(limit: Int) async throws -> [CrossPartitionNotification] {
        try await scan(Subspace.crossPartitionNotification.range, limit: limit).map(CrossPartitionNotification.init)
    }

    /// Returns the version of the newest notification that was delivered from another partition into the queue of this one; 0 if none was.
    ///
    /// Notifications are delivered in the order of their versions, so those up to it are in the queue already.
    package func deliveredVersion(from partition: Partition) async throws -> UInt64 {
        try await get(CrossPartitionNotification.deliveredKey(partition)).map(CrossPartitionNotification.delivered) ?? 0
    }
}

extension WriteTransaction {
    /// Writes a notification for other partitions.
    package mutating func set(_ carried: CrossPartitionNotification) {
        set(CrossPartitionNotification.key(carried.version), carried.value)
    }

    /// Removes a notification for other partitions.
    package mutating func clear(_ carried: CrossPartitionNotification) {
        clear(CrossPartitionNotification.key(carried.version))
    }

    /// Notes that the notifications of another partition up to a version are in the queue of this one.
    package mutating func setDeliveredVersion(_ version: UInt64, from partition: Partition) {
        var value = ValueWriter(capacity: 8)
        value.add(version)
        set(CrossPartitionNotification.deliveredKey(partition), value.bytes)
    }
}
