/// One share asked for by its short GUID (docs/web-services.md §10.2).
package struct ShareInvitationRequest: Hashable, Sendable {
    /// The short GUID of the link.
    package var shortGUID: String
    /// A Boolean value that indicates whether the root record is to be returned.
    package var shouldFetchRootRecord: Bool
    /// nil: all fields.
    package var rootRecordDesiredKeys: [String]?
    /// When the link is accepted: the proof that the user has its secret, opaque to the server; nil if there is none.
    package var linkProof: [UInt8]?

    /// Creates a value with the given properties.
    package init(
        shortGUID: String, shouldFetchRootRecord: Bool = false, rootRecordDesiredKeys: [String]? = nil,
        linkProof: [UInt8]? = nil
    ) {
        self.linkProof = linkProof
        self.shortGUID = shortGUID
        self.shouldFetchRootRecord = shouldFetchRootRecord
        self.rootRecordDesiredKeys = rootRecordDesiredKeys
    }
}

/// The share behind a link, as the holder of the link sees it: `CKShare.Metadata` (B-ACP-01).
package struct ShareInvitation: Hashable, Sendable {
    /// The container.
    package var container: ContainerID
    /// The environment.
    package var environment: Environment
    /// `private` for the owner, `shared` for all others.
    package var scope: DatabaseScope
    /// The record of the share.
    package var share: Record
    /// nil for a zone-wide share.
    package var rootRecordName: String?
    /// The root record; nil if it was not asked for or may not be seen.
    package var rootRecord: Record?
    /// The role of the caller in the share, now or after accepting.
    package var role: ParticipantRole
    /// The permission of the user.
    package var permission: ParticipantPermission
    /// The state of the user's invitation.
    package var acceptance: ParticipantAcceptance
    /// The owner of the share.
    package var owner: PersonIdentity

    /// Creates a value with the given properties.
    package init(
        container: ContainerID, environment: Environment, scope: DatabaseScope, share: Record,
        rootRecordName: String?, rootRecord: Record?, role: ParticipantRole, permission: ParticipantPermission,
        acceptance: ParticipantAcceptance, owner: PersonIdentity
    ) {
        self.container = container
        self.environment = environment
        self.scope = scope
        self.share = share
        self.rootRecordName = rootRecordName
        self.rootRecord = rootRecord
        self.role = role
        self.permission = permission
        self.acceptance = acceptance
        self.owner = owner
    }

    /// The zone of the share.
    package var zoneID: ZoneID { share.id.zoneID }
}

/// The outcome of one share of a `records/resolve` or `records/accept` request.
package enum ShareInvitationOutcome: Hashable, Sendable {
    case invitation(ShareInvitation)
    case failed(RequestFailure)
}
