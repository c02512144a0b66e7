/// What a record of the type `cloudkit.share` says besides its fields, as one viewer sees it (B-SHR-09, B-PRT-08).
package struct Share: Hashable, Codable, Sendable {
    /// The record at the top of the tree; nil for a zone-wide share (B-SHR-01).
    package var root: String?
    package var publicPermission: ParticipantPermission
    /// Those the viewer may see, the owner first.
    package var participants: [ShareParticipant]
    /// The viewer's own entry; nil for somebody who has none, as an anonymous reader of a public share.
    package var currentParticipantID: String?
    /// Whether strangers may ask to be let in (B-SHN-02).
    package var allowsAccessRequests: Bool
    /// People who asked; owner and administrators see them (B-SHN-03).
    package var requesters: [PersonIdentity]
    /// People who may not ask; owner and administrators see them.
    package var blocked: [PersonIdentity]
    /// nil for a share that never had keys.
    package var keys: ShareKeys?

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

    /// Whether whoever has the share's link may take part.
    package var isOpen: Bool { publicPermission.canRead }

    package var owner: ShareParticipant? { participants.first { $0.role == .owner } }
    package var currentParticipant: ShareParticipant? {
        participants.first { $0.id == currentParticipantID }
    }
}

/// What a client asks of a share when it saves the share's record.
package struct ShareChange: Hashable, Sendable {
    /// The root of a share that is to begin.
    package var root: Root?
    package var publicPermission: ParticipantPermission?
    /// Everybody but the owner, whole: who is missing is removed. nil: as it is.
    package var participants: [ParticipantChange]?
    package var allowsAccessRequests: Bool?
    /// Requesters to be sent away; they may ask again.
    package var denied: [UserID]
    /// People who may no longer ask; they lose their participation as well.
    package var blocked: [UserID]
    package var unblocked: [UserID]
    package var keys: ShareKeyChange?

    package struct Root: Hashable, Sendable {
        package var recordName: String
        /// Checked against the root where the request does not save it as well.
        package var changeTag: ChangeTag?

        package init(recordName: String, changeTag: ChangeTag? = nil) {
            self.recordName = recordName
            self.changeTag = changeTag
        }
    }

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

    package var isEmpty: Bool { self == ShareChange() }
}

/// One participant of a share as a client wants it.
package struct ParticipantChange: Hashable, Sendable {
    /// nil: known by who it is, or new.
    package var id: String?
    package var role: ParticipantRole?
    package var permission: ParticipantPermission?
    package var lookup: LookupInfo?
    package var user: UserID?
    /// A seat for whoever opens its link first (B-SHN-01).
    package var isOneTime: Bool

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
