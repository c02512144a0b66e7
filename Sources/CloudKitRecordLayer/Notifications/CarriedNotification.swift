import CloudKitModel
import OrderedStore

/// A notification that was decided in one partition and belongs into another's queue: a job in its outbox.
package struct CarriedNotification: Hashable, Sendable {
    /// The order of jobs, and what tells them apart.
    package var version: UInt64
    package var receiver: UserID
    package var content: Content

    package enum Content: Hashable, Sendable {
        case draft(NotificationDraft)
        /// Something changed in a zone that the receiver has joined: which of the receiver's subscriptions that meets, the
        /// receiver's partition knows.
        case sharedChange(SharedChange)
    }

    /// What a participant is told of a commit in somebody else's zone (B-SHF-07).
    package struct SharedChange: Hashable, Sendable {
        /// Types of the records that changed; nil: what changed is the share itself.
        package var recordTypes: [String]?
        /// The device that made the change.
        package var origin: String?
        /// Known by this, as every notification about the same change.
        package var noticeID: String

        package init(recordTypes: [String]?, origin: String?, noticeID: String) {
            self.recordTypes = recordTypes
            self.origin = origin
            self.noticeID = noticeID
        }
    }

    package init(version: UInt64, receiver: UserID, content: Content) {
        self.version = version
        self.receiver = receiver
        self.content = content
    }

    static func key(_ version: UInt64) -> Bytes {
        KeyBuilder(.carriedNotification, capacity: 10).adding(version).bytes
    }

    private static let format: UInt8 = 1

    var value: Bytes {
        var value = ValueWriter(capacity: 256)
        value.add(byte: Self.format)
        value.add(receiver.recordName)
        switch content {
        case .draft(let draft):
            value.add(byte: 1)
            value.add(draft.collapseKey)
            value.add(draft.origin)
            value.add(draft.payload)
        case .sharedChange(let change):
            value.add(byte: 2)
            value.add(change.noticeID)
            value.add(change.origin)
            value.add(UInt16(clamping: change.recordTypes?.count ?? Int(UInt16.max)))
            for type in change.recordTypes ?? [] { value.add(type) }
        }
        return value.bytes
    }

    init(_ entry: Entry) throws {
        var key = KeyReader(entry.key, in: .carriedNotification)
        var value = ValueReader(entry.value, of: .carriedNotification)
        version = try key.readVersion()
        guard try value.byte() == Self.format else { throw DamagedValue(.carriedNotification) }
        receiver = UserID(try value.text())
        switch try value.byte() {
        case 1:
            content = .draft(
                NotificationDraft(
                    collapseKey: try value.text(), origin: try value.optionalText(), payload: try value.string()))
        case 2:
            var change = SharedChange(recordTypes: nil, origin: nil, noticeID: try value.text())
            change.origin = try value.optionalText()
            let count = try value.number(UInt16.self)
            if count != .max {
                var types: [String] = []
                for _ in 0..<count { types.append(try value.text()) }
                change.recordTypes = types
            }
            content = .sharedChange(change)
        default: throw DamagedValue(.carriedNotification)
        }
    }
}

extension Reading {
    /// The oldest notifications that wait to be carried out of this partition.
    package func carriedNotifications(limit: Int) async throws -> [CarriedNotification] {
        try await scan(Subspace.carriedNotification.range, limit: limit).map(CarriedNotification.init)
    }
}

extension WriteTransaction {
    package mutating func set(_ carried: CarriedNotification) {
        set(CarriedNotification.key(carried.version), carried.value)
    }

    package mutating func clear(_ carried: CarriedNotification) { clear(CarriedNotification.key(carried.version)) }
}
