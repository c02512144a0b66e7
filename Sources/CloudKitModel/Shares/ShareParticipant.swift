/// What somebody is to a share; raw values are those of `CKShare.ParticipantRole` (B-PRT-01).
package enum ParticipantRole: Int, Hashable, Codable, Sendable, CaseIterable {
    case unknown = 0
    case owner = 1
    case administrator = 2
    case privateUser = 3
    case publicUser = 4
}

/// What a participant may do with what is shared; raw values are those of `CKShare.ParticipantPermission`.
package enum ParticipantPermission: Int, Hashable, Codable, Sendable, CaseIterable {
    case unknown = 0
    case none = 1
    case readOnly = 2
    case readWrite = 3

    /// Whether whoever has it may read; with `readWrite` they may write, too.
    package var canRead: Bool { self == .readOnly || self == .readWrite }
}

/// How far an invitation has come; raw values are those of `CKShare.ParticipantAcceptanceStatus`.
package enum ParticipantAcceptance: Int, Hashable, Codable, Sendable, CaseIterable {
    case unknown = 0
    case pending = 1
    case accepted = 2
    case removed = 3
}

/// By what somebody is looked up (docs/web-services.md §3.5).
package struct LookupInfo: Hashable, Codable, Sendable {
    package var emailAddress: String?
    package var phoneNumber: String?
    package var user: UserID?

    package init(emailAddress: String? = nil, phoneNumber: String? = nil, user: UserID? = nil) {
        self.emailAddress = emailAddress
        self.phoneNumber = phoneNumber
        self.user = user
    }

    package var isEmpty: Bool { emailAddress == nil && phoneNumber == nil && user == nil }

    /// Characters of an address or number.
    package static let lengthMax = 320
}

/// What a share says of a person: perhaps nothing but the address they were invited by.
package struct PersonIdentity: Hashable, Codable, Sendable {
    /// nil until an account proves the address (B-PRT-05).
    package var user: UserID?
    package var lookup: LookupInfo?
    /// Shown once the person has accepted (B-PRT-09).
    package var givenName: String?
    package var familyName: String?
    /// The public part of the account's identity, for wrapping keys: opaque bytes; native surface only.
    package var publicIdentity: [UInt8]?

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

    package var hasAccount: Bool { user != nil }
}

/// One of the people of a share, as answers carry them.
package struct ShareParticipant: Hashable, Codable, Sendable {
    /// Stable, made by whoever adds the participant or, failing that, by the server.
    package var id: String
    package var role: ParticipantRole
    package var permission: ParticipantPermission
    package var acceptance: ParticipantAcceptance
    package var identity: PersonIdentity
    /// The short GUID of the link that only the first to open it can use (B-SHN-01); nil once it was used.
    package var oneTimeGUID: String?
    /// Whether the participant had asked for access (B-SHN-03).
    package var isApprovedRequester: Bool
    /// Milliseconds since 1970.
    package var added: Int64?
    /// The newest key epoch for which a wrap of this participant is stored; nil: none.
    package var keyEpoch: Int?
    /// The fingerprint of the public identity to which that wrap is sealed; nil: nobody said. Owner, administrators and the
    /// participant are told.
    package var keyIdentity: String?
    /// The newest key epoch in which the owner wrapped the key for this participant as an administrator; nil: none. The owner
    /// is told, who alone gives that right.
    package var grantEpoch: Int?

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
