/// The role of a participant in a share; raw values are those of `CKShare.ParticipantRole` (B-PRT-01).
package enum ParticipantRole: Int, Hashable, Codable, Sendable, CaseIterable {
    case unknown = 0
    case owner = 1
    case administrator = 2
    case privateUser = 3
    case publicUser = 4
}

/// The permission of a participant; raw values are those of `CKShare.ParticipantPermission`.
package enum ParticipantPermission: Int, Hashable, Codable, Sendable, CaseIterable {
    case unknown = 0
    case none = 1
    case readOnly = 2
    case readWrite = 3

    /// A Boolean value that indicates whether the permission allows reading; `readWrite` allows writing, too.
    package var canRead: Bool { self == .readOnly || self == .readWrite }
}

/// The state of an invitation; raw values are those of `CKShare.ParticipantAcceptanceStatus`.
package enum ParticipantAcceptance: Int, Hashable, Codable, Sendable, CaseIterable {
    case unknown = 0
    case pending = 1
    case accepted = 2
    case removed = 3
}

/// The attribute by which a user is looked up (docs/web-services.md §3.5).
package struct LookupInfo: Hashable, Codable, Sendable {
    /// The email address; nil if it is not the attribute.
    package var emailAddress: String?
    /// The phone number; nil if it is not the attribute.
    package var phoneNumber: String?
    /// The user; nil if the user is not the attribute.
    package var user: UserID?
    /// The hash of an address or number, in place of it (B-ACC-07); nil if it is not the attribute. Only for discovery.
    package var addressHash: [UInt8]?

    /// Creates a value with the given properties.
    package init(
        emailAddress: String? = nil, phoneNumber: String? = nil, user: UserID? = nil, addressHash: [UInt8]? = nil
    ) {
        self.emailAddress = emailAddress
        self.phoneNumber = phoneNumber
        self.user = user
        self.addressHash = addressHash
    }

    /// A Boolean value that indicates whether no attribute is given.
    package var isEmpty: Bool {
        emailAddress == nil && phoneNumber == nil && user == nil && addressHash == nil
    }

    /// The number as accounts store it; a text that is no such number stays as it is.
    package var normalisedPhone: String? { phoneNumber.map { PhoneNumber($0)?.normalised ?? $0 } }

    /// Characters of an address or number.
    package static let lengthMax = 320
}

/// The identity of a user in a share: perhaps nothing but the address of the invitation.
package struct PersonIdentity: Hashable, Codable, Sendable {
    /// nil until an account proves the address (B-PRT-05).
    package var user: UserID?
    /// The attribute by which the person was invited; nil if unknown.
    package var lookup: LookupInfo?
    /// Shown once the person has accepted (B-PRT-09).
    package var givenName: String?
    /// The family name; nil if unknown.
    package var familyName: String?
    /// The public part of the account's identity, for wrapping keys: opaque bytes; native surface only.
    package var publicIdentity: [UInt8]?

    /// Creates a value with the given properties.
    package init(
        user: UserID? = nil, lookup: LookupInfo? = nil, givenName: String? = nil, familyName: String? = nil,
        publicIdentity: [UInt8]? = nil
    ) {
        self.user = user
        self.lookup = lookup
        self.givenName = givenName
        self.familyName = familyName
        self.publicIdentity = publicIdentity
    }

    /// A Boolean value that indicates whether the person is known as a user.
    package var hasAccount: Bool { user != nil }
}

/// One participant of a share, as answers carry it.
package struct ShareParticipant: Hashable, Codable, Sendable {
    /// Stable, made by the client that adds the participant or, failing that, by the server.
    package var id: String
    /// The role.
    package var role: ParticipantRole
    /// The permission.
    package var permission: ParticipantPermission
    /// The state of the invitation.
    package var acceptance: ParticipantAcceptance
    /// The identity of the person.
    package var identity: PersonIdentity
    /// The short GUID of the link that only the first to open it can use (B-SHN-01); nil once it was used.
    package var oneTimeGUID: String?
    /// A Boolean value that indicates whether the participant had asked for access (B-SHN-03).
    package var isApprovedRequester: Bool
    /// Milliseconds since 1970.
    package var added: Int64?
    /// The newest key epoch for which a wrap of this participant is stored; nil: none.
    package var keyEpoch: Int?
    /// The fingerprint of the public identity to which that wrap is sealed; nil if unknown. Sent to owner, administrators
    /// and the participant.
    package var keyIdentity: String?
    /// The newest key epoch in which the owner wrapped the key for this participant as an administrator; nil if there is
    /// none. Sent to the owner, who alone gives that right.
    package var grantEpoch: Int?
    /// The proof of a user who joined by a link that they have its secret; nil if there is none. Sent to owner and
    /// administrators.
    package var linkProof: [UInt8]?

    /// Creates a value with the given properties.
    package init(
        id: String, role: ParticipantRole, permission: ParticipantPermission, acceptance: ParticipantAcceptance,
        identity: PersonIdentity = PersonIdentity(), oneTimeGUID: String? = nil, isApprovedRequester: Bool = false,
        added: Int64? = nil, keyEpoch: Int? = nil
    ) {
        self.id = id
        self.role = role
        self.permission = permission
        self.acceptance = acceptance
        self.identity = identity
        self.oneTimeGUID = oneTimeGUID
        self.isApprovedRequester = isApprovedRequester
        self.added = added
        self.keyEpoch = keyEpoch
    }
}
