/// The properties of a record of the type `cloudkit.share` besides its fields, as one viewer sees it (B-SHR-09, B-PRT-08).
package struct Share: Hashable, Codable, Sendable {
    /// The record at the top of the tree; nil for a zone-wide share (B-SHR-01).
    package var root: String?
    /// The permission of users who are no participants.
    package var publicPermission: ParticipantPermission
    /// The participants that the viewer may see, the owner first.
    package var participants: [ShareParticipant]
    /// The viewer's own entry; nil for a viewer without one, as an anonymous reader of a public share.
    package var currentParticipantID: String?
    /// A Boolean value that indicates whether non-members may ask for access (B-SHN-02).
    package var allowsAccessRequests: Bool
    /// People who asked; owner and administrators see them (B-SHN-03).
    package var requesters: [PersonIdentity]
    /// Users who may not ask for access; visible to owner and administrators.
    package var blocked: [PersonIdentity]
    /// nil for a share that never had keys.
    package var keys: ShareKeys?

    /// Creates a value with the given properties.
    package init(
        root: String?, publicPermission: ParticipantPermission = .none, participants: [ShareParticipant] = [],
        currentParticipantID: String? = nil, allowsAccessRequests: Bool = false, requesters: [PersonIdentity] = [],
        blocked: [PersonIdentity] = [], keys: ShareKeys? = nil
    ) {
        self.root = root
        self.publicPermission = publicPermission
        self.participants = participants
        self.currentParticipantID = currentParticipantID
        self.allowsAccessRequests = allowsAccessRequests
        self.requesters = requesters
        self.blocked = blocked
        self.keys = keys
    }

    /// The record name of a zone-wide share, `CKRecordNameZoneWideShare` (B-SHR-01).
    package static let zoneWideName = "cloudkit.zoneshare"

    /// A Boolean value that indicates whether any holder of the share's link may take part.
    package var isOpen: Bool { publicPermission.canRead }

    /// The owner; nil if the owner is not listed.
    package var owner: ShareParticipant? { participants.first { $0.role == .owner } }
    /// The participant who is the viewer; nil if there is none.
    package var currentParticipant: ShareParticipant? {
        participants.first { $0.id == currentParticipantID }
    }
}

/// The change of a client to a share when it saves the share's record.
package struct ShareChange: Hashable, Sendable {
    /// The root of a share that is to begin.
    package var root: Root?
    /// The new permission of users who are no participants; nil for no change.
    package var publicPermission: ParticipantPermission?
    /// All participants but the owner: missing ones are removed. nil for no change.
    package var participants: [ParticipantChange]?
    /// A Boolean value that indicates whether access can be requested; nil for no change.
    package var allowsAccessRequests: Bool?
    /// Requesters to be sent away; they may ask again.
    package var denied: [UserID]
    /// Users who may no longer ask for access; they lose their participation as well.
    package var blocked: [UserID]
    /// The users who are no longer blocked.
    package var unblocked: [UserID]
    /// New keys; nil for none.
    package var keys: ShareKeyChange?

    /// The record at the root of the share's tree.
    package struct Root: Hashable, Sendable {
        /// The name of the root record.
        package var recordName: String
        /// Checked against the root where the request does not save it as well.
        package var changeTag: ChangeTag?

        /// Creates a value with the given properties.
        package init(recordName: String, changeTag: ChangeTag? = nil) {
            self.recordName = recordName
            self.changeTag = changeTag
        }
    }

    /// Creates a value with the given properties.
    package init(
        root: Root? = nil, publicPermission: ParticipantPermission? = nil, participants: [ParticipantChange]? = nil,
        allowsAccessRequests: Bool? = nil, denied: [UserID] = [], blocked: [UserID] = [], unblocked: [UserID] = [],
        keys: ShareKeyChange? = nil
    ) {
        self.root = root
        self.publicPermission = publicPermission
        self.participants = participants
        self.allowsAccessRequests = allowsAccessRequests
        self.denied = denied
        self.blocked = blocked
        self.unblocked = unblocked
        self.keys = keys
    }

    /// A Boolean value that indicates whether nothing is changed.
    package var isEmpty: Bool { self == ShareChange() }
}

/// One participant of a share as a client wants it.
package struct ParticipantChange: Hashable, Sendable {
    /// The id of the participant; nil for one that is identified by user or address, or new.
    package var id: String?
    /// The role; nil for no change.
    package var role: ParticipantRole?
    /// The permission; nil for no change.
    package var permission: ParticipantPermission?
    /// The attribute by which the participant was looked up; nil if already known by user.
    package var lookup: LookupInfo?
    /// The user; nil if unknown.
    package var user: UserID?
    /// A Boolean value that indicates whether it is a participant slot for the first user who opens its link
    /// (B-SHN-01).
    package var isOneTime: Bool
    /// A Boolean value that indicates whether the app added or changed the participant since it fetched the share, so that this
    /// device vouches for them; it is not sent.
    package var isChosen = false

    /// Creates a value with the given properties.
    package init(
        id: String? = nil, role: ParticipantRole? = nil, permission: ParticipantPermission? = nil,
        lookup: LookupInfo? = nil, user: UserID? = nil, isOneTime: Bool = false
    ) {
        self.id = id
        self.role = role
        self.permission = permission
        self.lookup = lookup
        self.user = user
        self.isOneTime = isOneTime
    }
}
