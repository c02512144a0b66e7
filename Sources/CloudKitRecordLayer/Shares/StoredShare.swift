import CloudKitModel
import OrderedStore

/// The properties of a share besides its record: participants and their permissions.
///
/// Stored beside the record, under the record's name. The owner is the partition's user and has no entry among the
/// participants.
package struct StoredShare: Hashable, Sendable {
    /// The name of the share's record.
    package var name: String
    /// Different from any other share that this database ever had.
    package var number: UInt64
    /// nil for a zone-wide share.
    package var root: String?
    /// The short GUID of the share's link.
    package var shortGUID: String
    /// The id by which answers name the owner's entry.
    package var ownerID: String
    /// The permission of users who are no participants.
    package var publicPermission: ParticipantPermission
    /// The participants.
    package var participants: [StoredParticipant] = []
    /// Whether access can be requested.
    package var allowsAccessRequests = false
    /// The users who requested access.
    package var requesters: [StoredPerson] = []
    /// The users who are blocked.
    package var blocked: [StoredPerson] = []
    /// The newest epoch of its keys; 0: none.
    package var keyEpoch: UInt32 = 0
    /// Whether a new key epoch has to begin.
    package var needsNewEpoch = false
    /// Whether the newest epoch has a wrap for the public link.
    package var hasLink = false
    /// The newest epoch with a wrap for the owner; 0: none.
    package var ownerKeyEpoch: UInt32 = 0
    /// The number of the newest statement of who takes part; 0: none.
    package var statementCounter: UInt64 = 0

    /// Creates a value with the given properties.
    package init(
        name: String, number: UInt64, root: String?, shortGUID: String, ownerID: String,
        publicPermission: ParticipantPermission = .none
    ) {
        self.name = name
        self.number = number
        self.root = root
        self.shortGUID = shortGUID
        self.ownerID = ownerID
        self.publicPermission = publicPermission
    }

    /// Makes it a share without keys, as one of a client that has none: its owner has lost theirs.
    package mutating func forgetKeys() {
        keyEpoch = 0
        ownerKeyEpoch = 0
        needsNewEpoch = false
        hasLink = false
        statementCounter = 0
        for index in participants.indices {
            participants[index].keyEpoch = 0
            participants[index].keyIdentity = nil
            participants[index].grantEpoch = 0
        }
    }

    /// Returns the participant who is a user; nil if there is none.
    package func participant(of user: UserID) -> StoredParticipant? { participants.first { $0.user == user } }

    /// Returns the key of a share.
    package static func key(zone: UInt32, name: String) -> Bytes {
        KeyBuilder(.share, zone: zone).adding(name).bytes
    }
}

/// A user who asked for access, or who may not ask.
package struct StoredPerson: Hashable, Sendable {
    /// The user.
    package var user: UserID
    /// The address that owner and administrators are shown.
    package var email: String?

    /// Creates a value with the given properties.
    package init(user: UserID, email: String? = nil) {
        self.user = user
        self.email = email
    }
}

/// One participant as stored.
package struct StoredParticipant: Hashable, Sendable {
    /// The id of the participant.
    package var id: String
    /// The role.
    package var role: ParticipantRole
    /// The permission that was granted; a public user takes the share's public permission instead.
    package var permission: ParticipantPermission
    /// The state of the invitation.
    package var acceptance: ParticipantAcceptance
    /// The user; nil while the address is not proved, or the one-time link not opened.
    package var user: UserID?
    /// The email address of the invitation; nil if there is none.
    package var email: String?
    /// The phone number of the invitation; nil if there is none.
    package var phone: String?
    /// The short GUID of a one-time link; nil if there is none.
    package var oneTimeGUID: String?
    /// Whether the participant requested access and was let in.
    package var isApprovedRequester = false
    /// Milliseconds since 1970.
    package var added: Int64
    /// The newest key epoch with a wrap; 0: none.
    package var keyEpoch: UInt32 = 0
    /// The fingerprint of the identity to which that wrap is sealed, as who stored it said.
    package var keyIdentity: String?
    /// The newest key epoch in which the owner stored a wrap for them as an administrator; 0: none.
    package var grantEpoch: UInt32 = 0
    /// The proof of a user who joined by a link that they have its secret, opaque bytes; nil if there is none.
    package var linkProof: Bytes?

    /// Creates a value with the given properties.
    package init(
        id: String, role: ParticipantRole, permission: ParticipantPermission, acceptance: ParticipantAcceptance,
        user: UserID? = nil, email: String? = nil, phone: String? = nil, oneTimeGUID: String? = nil, added: Int64
    ) {
        self.id = id
        self.role = role
        self.permission = permission
        self.acceptance = acceptance
        self.user = user
        self.email = email
        self.phone = phone
        self.oneTimeGUID = oneTimeGUID
        self.added = added
    }
}

extension StoredShare {
    /// 2: with `grantEpoch`. 3: with `keyIdentity`. 4: with `statementCounter` and `linkProof`.
    private static let format: UInt8 = 4

    /// The stored form.
    package var encoded: Bytes {
        var value = ValueWriter(capacity: 128 + participants.count * 128)
        value.add(byte: Self.format)
        value.add(number)
        value.add(root)
        value.add(shortGUID)
        value.add(ownerID)
        value.add(byte: UInt8(publicPermission.rawValue))
        value.add(byte: (allowsAccessRequests ? 1 : 0) | (needsNewEpoch ? 2 : 0) | (hasLink ? 4 : 0))
        value.add(keyEpoch)
        value.add(ownerKeyEpoch)
        value.add(statementCounter)
        value.add(UInt16(clamping: participants.count))
        for participant in participants { participant.encode(into: &value) }
        for people in [requesters, blocked] {
            value.add(UInt16(clamping: people.count))
            for person in people {
                value.add(person.user.recordName)
                value.add(person.email)
            }
        }
        return value.bytes
    }

    /// Reads the stored form.
    package init(name: String, decoding bytes: Bytes) throws {
        var value = ValueReader(bytes, of: .share)
        let format = try value.byte()
        guard (1...Self.format).contains(format) else { throw DamagedValue(.share) }
        let number: UInt64 = try value.number()
        let root = try value.optionalText()
        self.init(
            name: name, number: number, root: root, shortGUID: try value.text(), ownerID: try value.text(),
            publicPermission: try value.word(ParticipantPermission.init(rawValue:)))
        let flags = try value.byte()
        allowsAccessRequests = flags & 1 != 0
        needsNewEpoch = flags & 2 != 0
        hasLink = flags & 4 != 0
        keyEpoch = try value.number()
        ownerKeyEpoch = try value.number()
        if format >= 4 { statementCounter = try value.number() }
        for _ in 0..<(try value.number(UInt16.self)) {
            participants.append(try StoredParticipant(reading: &value, format: format))
        }
        requesters = try StoredPerson.list(reading: &value)
        blocked = try StoredPerson.list(reading: &value)
    }
}

extension StoredPerson {
    fileprivate static func list(reading value: inout ValueReader) throws -> [StoredPerson] {
        var people: [StoredPerson] = []
        for _ in 0..<(try value.number(UInt16.self)) {
            people.append(StoredPerson(user: UserID(try value.text()), email: try value.optionalText()))
        }
        return people
    }
}

extension StoredParticipant {
    fileprivate func encode(into value: inout ValueWriter) {
        value.add(id)
        value.add(byte: UInt8(role.rawValue))
        value.add(byte: UInt8(permission.rawValue))
        value.add(byte: UInt8(acceptance.rawValue))
        value.add(byte: isApprovedRequester ? 1 : 0)
        value.add(user?.recordName)
        value.add(email)
        value.add(phone)
        value.add(oneTimeGUID)
        value.add(added)
        value.add(keyEpoch)
        value.add(grantEpoch)
        value.add(keyIdentity)
        value.add(linkProof ?? [])
    }

    fileprivate init(reading value: inout ValueReader, format: UInt8) throws {
        let id = try value.text()
        let role = try value.word(ParticipantRole.init(rawValue:))
        let permission = try value.word(ParticipantPermission.init(rawValue:))
        let acceptance = try value.word(ParticipantAcceptance.init(rawValue:))
        let isApproved = try value.byte() == 1
        self.init(
            id: id, role: role, permission: permission, acceptance: acceptance,
            user: try value.optionalText().map { UserID($0) }, email: try value.optionalText(),
            phone: try value.optionalText(), oneTimeGUID: try value.optionalText(), added: try value.number())
        isApprovedRequester = isApproved
        keyEpoch = try value.number()
        if format >= 2 { grantEpoch = try value.number() }
        if format >= 3 { keyIdentity = try value.optionalText() }
        if format >= 4 {
            let proof = try value.string()
            linkProof = proof.isEmpty ? nil : proof
        }
    }
}

extension ValueReader {
    /// Reads a word that is stored as a byte.
    mutating func word<Word>(_ known: (Int) -> Word?) throws -> Word {
        guard let word = known(Int(try byte())) else { throw DamagedValue(.share) }
        return word
    }
}

extension Reading {
    /// Returns a share; nil if there is none.
    package func share(zone: UInt32, name: String) async throws -> StoredShare? {
        try await shares(zone: zone, names: [name])[0]
    }

    /// The shares under the names of their records, in the order asked for.
    package func shares(zone: UInt32, names: [String]) async throws -> [StoredShare?] {
        let values = try await get(names.map { StoredShare.key(zone: zone, name: $0) })
        return try zip(names, values).map { name, bytes in
            try bytes.map { try StoredShare(name: name, decoding: $0) }
        }
    }

    /// Every share of a zone.
    package func shares(zone: UInt32) async throws -> [StoredShare] {
        try await scan(KeyRange(prefix: KeyBuilder(.share, zone: zone).bytes), limit: .max).map { entry in
            var key = KeyReader(entry.key, in: .share)
            try key.skip()
            return try StoredShare(name: key.readString(), decoding: entry.value)
        }
    }

    /// The short GUID that the zone's zone-wide share has, or had (B-SHR-07).
    package func zoneShareGUID(zone: UInt32) async throws -> String? {
        try await get(KeyBuilder(.zoneShareGUID, zone: zone).bytes).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension WriteTransaction {
    /// Writes a share.
    package mutating func set(_ share: StoredShare, zone: UInt32) {
        set(StoredShare.key(zone: zone, name: share.name), share.encoded)
        if share.root == nil { set(KeyBuilder(.zoneShareGUID, zone: zone).bytes, Bytes(share.shortGUID.utf8)) }
    }

    /// Clears a share with its feed and keys. Memberships of its records are the caller's to clear.
    package mutating func clear(_ share: StoredShare, zone: UInt32) {
        clear(StoredShare.key(zone: zone, name: share.name))
        for subspace in [Subspace.shareFeed, .shareLeaving, .shareKey] {
            clear(KeyRange(prefix: KeyBuilder(subspace, zone: zone).adding(share.number).bytes))
        }
    }
}
