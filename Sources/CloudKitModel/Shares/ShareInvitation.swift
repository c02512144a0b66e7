/// One share asked for by its short GUID (docs/web-services.md §10.2).
package struct ShareInvitationRequest: Hashable, Sendable {
    package var shortGUID: String
    package var shouldFetchRootRecord: Bool
    /// nil: all fields.
    package var rootRecordDesiredKeys: [String]?

    package init(shortGUID: String, shouldFetchRootRecord: Bool = false, rootRecordDesiredKeys: [String]? = nil) {
        self.shortGUID = shortGUID
        self.shouldFetchRootRecord = shouldFetchRootRecord
        self.rootRecordDesiredKeys = rootRecordDesiredKeys
    }
}

/// What the holder of a link learns of the share behind it: `CKShare.Metadata` (B-ACP-01).
package struct ShareInvitation: Hashable, Sendable {
    package var container: ContainerID
    package var environment: Environment
    /// `private` for the owner, `shared` for everybody else.
    package var scope: DatabaseScope
    package var share: Record
    /// nil for a zone-wide share.
    package var rootRecordName: String?
    package var rootRecord: Record?
    /// What the caller is to the share, or would be by accepting.
    package var role: ParticipantRole
    package var permission: ParticipantPermission
    package var acceptance: ParticipantAcceptance
    package var owner: PersonIdentity

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

    package var zoneID: ZoneID { share.id.zoneID }
}

/// What became of one share of a `records/resolve` or `records/accept` request.
package enum ShareInvitationOutcome: Hashable, Sendable {
    case invitation(ShareInvitation)
    case failed(RequestFailure)
}
