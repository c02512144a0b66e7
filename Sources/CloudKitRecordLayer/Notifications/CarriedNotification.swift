import CloudKitModel
import OrderedStore

/// A notification that was decided in one partition and belongs into another's queue: a job in its outbox.
package struct CarriedNotification: Hashable, Sendable {
    /// The order of jobs, and what tells them apart.
    package var version: UInt64
    package var receiver: UserID
    package var draft: NotificationDraft

    package init(version: UInt64, receiver: UserID, draft: NotificationDraft) {
        self.version = version
        self.receiver = receiver
        self.draft = draft
    }

    static func key(_ version: UInt64) -> Bytes {
        KeyBuilder(.carriedNotification, capacity: 10).adding(version).bytes
    }

    private static let format: UInt8 = 1

    var value: Bytes {
        var value = ValueWriter(capacity: 64 + draft.payload.count)
        value.add(byte: Self.format)
        value.add(receiver.recordName)
        value.add(draft.collapseKey)
        value.add(draft.origin)
        value.add(draft.payload)
        return value.bytes
    }

    init(_ entry: Entry) throws {
        var key = KeyReader(entry.key, in: .carriedNotification)
        var value = ValueReader(entry.value, of: .carriedNotification)
        version = try key.readVersion()
        guard try value.byte() == Self.format else { throw DamagedValue(.carriedNotification) }
        receiver = UserID(try value.text())
        draft = NotificationDraft(
            collapseKey: try value.text(), origin: try value.optionalText(), payload: try value.string())
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
