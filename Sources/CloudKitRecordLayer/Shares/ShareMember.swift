import CloudKitModel
import OrderedStore

/// The participant slots that one user accepted in one zone of another user, in one small value, so that a single read decides
/// what they may see.
package struct ShareMember: Hashable, Sendable {
    /// The user.
    package var user: UserID
    /// The version at which the user got a first slot, after having none: tokens from before are of an earlier membership.
    package var since: UInt64
    /// The participant slots that the user accepted.
    package var slots: [Slot] = []
    /// The losses of slots while others stayed; the lost records are under `ShareLoss`.
    package var losses: [Loss] = []

    /// The loss of a participant slot while others stayed.
    package struct Loss: Hashable, Sendable {
        /// The version at which the slot was lost.
        package var version: UInt64
        /// Milliseconds since 1970.
        package var timestamp: Int64

        /// Creates a value with the given properties.
        package init(version: UInt64, timestamp: Int64) {
            self.version = version
            self.timestamp = timestamp
        }
    }

    /// The user's place in one share of the zone.
    package struct Slot: Hashable, Sendable {
        /// The number of the share.
        package var share: UInt64
        /// The name of the share's record.
        package var shareName: String
        /// nil for a zone-wide share.
        package var root: String?
        /// The version at which the user accepted: what the share held then is news at that place of the feed.
        package var joined: UInt64
        /// The role of the user.
        package var role: ParticipantRole
        /// As it counts: a public user's is the share's.
        package var permission: ParticipantPermission

        /// Creates a value with the given properties.
        package init(
            share: UInt64, shareName: String, root: String?, joined: UInt64, role: ParticipantRole,
            permission: ParticipantPermission
        ) {
            self.share = share
            self.shareName = shareName
            self.root = root
            self.joined = joined
            self.role = role
            self.permission = permission
        }
    }

    /// Creates a value with the given properties.
    package init(user: UserID, since: UInt64) {
        self.user = user
        self.since = since
    }

    /// Returns the user's participant slot in a share; nil if there is none.
    package func slot(in share: UInt64) -> Slot? { slots.first { $0.share == share } }

    static func key(zone: UInt32, user: UserID) -> Bytes {
        KeyBuilder(.shareMember, zone: zone).adding(user.recordName).bytes
    }
}

extension ShareMember {
    /// 1: without the times of losses.
    private static let format: UInt8 = 2

    var encoded: Bytes {
        var value = ValueWriter(capacity: 32 + slots.count * 64)
        value.add(byte: Self.format)
        value.add(since)
        value.add(UInt16(clamping: slots.count))
        for slot in slots {
            value.add(slot.share)
            value.add(slot.shareName)
            value.add(slot.root)
            value.add(slot.joined)
            value.add(byte: UInt8(slot.role.rawValue))
            value.add(byte: UInt8(slot.permission.rawValue))
        }
        value.add(UInt16(clamping: losses.count))
        for loss in losses {
            value.add(loss.version)
            value.add(loss.timestamp)
        }
        return value.bytes
    }

    init(user: UserID, decoding bytes: Bytes) throws {
        var value = ValueReader(bytes, of: .shareMember)
        let format = try value.byte()
        guard (1...Self.format).contains(format) else { throw DamagedValue(.shareMember) }
        self.init(user: user, since: try value.number())
        for _ in 0..<(try value.number(UInt16.self)) {
            slots.append(
                Slot(
                    share: try value.number(), shareName: try value.text(), root: try value.optionalText(),
                    joined: try value.number(), role: try value.word(ParticipantRole.init(rawValue:)),
                    permission: try value.word(ParticipantPermission.init(rawValue:))))
        }
        for _ in 0..<(try value.number(UInt16.self)) {
            losses.append(Loss(version: try value.number(), timestamp: format >= 2 ? try value.number() : 0))
        }
    }
}

extension Reading {
    /// Returns the membership of a user in a zone; nil if there is none.
    package func shareMember(zone: UInt32, user: UserID) async throws -> ShareMember? {
        try await get(ShareMember.key(zone: zone, user: user)).map { try ShareMember(user: user, decoding: $0) }
    }

    /// Returns the memberships of all users in a zone.
    package func shareMembers(zone: UInt32) async throws -> [ShareMember] {
        try await scan(KeyRange(prefix: KeyBuilder(.shareMember, zone: zone).bytes), limit: .max).map { entry in
            var key = KeyReader(entry.key, in: .shareMember)
            try key.skip()
            return try ShareMember(user: UserID(key.readString()), decoding: entry.value)
        }
    }
}

extension WriteTransaction {
    /// Writes a member.
    package mutating func set(_ member: ShareMember, zone: UInt32) {
        set(ShareMember.key(zone: zone, user: member.user), member.encoded)
    }

    /// Removes a member.
    package mutating func clear(_ member: ShareMember, zone: UInt32) {
        clear(ShareMember.key(zone: zone, user: member.user))
    }
}
