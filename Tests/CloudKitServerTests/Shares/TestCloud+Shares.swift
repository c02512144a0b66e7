import CloudKitModel
import CloudKitServer

extension TestCloud {
    static let cyd = UserID("_cyd00000000000000000000000000000")
    static let dan = UserID("_dan00000000000000000000000000000")

    /// Saves and deletes records of another user's zone, or of one's own by its owner's name.
    @discardableResult
    func modify(
        _ operations: [RecordOperation], zone: String = "Z", of owner: UserID, atomic: Bool? = nil,
        in scope: DatabaseScope = .shared, by user: UserID
    ) async throws -> [RecordOutcome] {
        try await ModifyRecords(cloud).run(
            ModifyRecordsRequest(
                operations: operations, zoneID: ZoneID(zoneName: zone, owner: owner), atomic: atomic),
            in: Self.address(scope), by: Caller(user: user))
    }

    func sharedLookup(
        _ names: [String], zone: String = "Z", of owner: UserID = ada, by user: UserID
    ) async throws -> [RecordOutcome] {
        try await LookupRecords(cloud).run(
            LookupRecordsRequest(
                records: names.map { .init(recordName: $0) }, zoneID: ZoneID(zoneName: zone, owner: owner)),
            in: Self.address(.shared), by: Caller(user: user))
    }

    func sharedChanges(
        _ zone: String = "Z", of owner: UserID = ada, since token: String? = nil, limit: Int? = nil, by user: UserID
    ) async throws -> ZoneChangesPage {
        let outcome = try await FetchZoneChanges(cloud).run(
            [
                ZoneChangesRequest(
                    zoneID: ZoneID(zoneName: zone, owner: owner), syncToken: token, resultsLimit: limit)
            ], in: Self.address(.shared), by: Caller(user: user))[0]
        switch outcome {
        case .page(let page): return page
        case .failed(_, let failure): throw failure
        }
    }

    func sharedDatabaseChanges(
        since token: String? = nil, limit: Int? = nil, by user: UserID
    ) async throws -> DatabaseChangesPage {
        try await FetchDatabaseChanges(cloud).run(
            DatabaseChangesRequest(syncToken: token, resultsLimit: limit), in: Self.address(.shared),
            by: Caller(user: user))
    }

    /// The share as a user sees it.
    func share(_ name: String, zone: String = "Z", by user: UserID = ada, of owner: UserID = ada) async throws -> Share?
    {
        if user == owner { return try await lookup([name], zone: zone, by: Caller(user: user))[0].record?.sharing }
        return try await sharedLookup([name], zone: zone, of: owner, by: user)[0].record?.sharing
    }

    /// Shares a tree of Ada's zone `Z`; the share's record.
    @discardableResult
    func shareTree(
        _ root: String, as name: String? = nil, zone: String = "Z", permission: ParticipantPermission = .none,
        with participants: [ParticipantChange] = []
    ) async throws -> Record {
        let change = ShareChange(
            root: .init(recordName: root), publicPermission: permission,
            participants: participants.isEmpty ? nil : participants)
        return try await saveShare(name ?? "Share-" + root, change, zone: zone)
    }

    /// Shares a zone of Ada as a whole.
    @discardableResult
    func shareZone(
        _ zone: String = "Z", permission: ParticipantPermission = .none, with participants: [ParticipantChange] = []
    ) async throws -> Record {
        try await saveShare(
            Share.zoneWideName,
            ShareChange(publicPermission: permission, participants: participants.isEmpty ? nil : participants),
            zone: zone)
    }

    private func saveShare(_ name: String, _ change: ShareChange, zone: String) async throws -> Record {
        let outcome = try await modify([createShare(name, change)], zone: zone)[0]
        guard let record = outcome.record else { throw outcome.failure ?? RequestFailure(.internalError, "no share") }
        return record
    }

    /// Changes a share with the tag it has now.
    @discardableResult
    func changeShare(
        _ name: String, _ change: ShareChange, by user: UserID = ada, of owner: UserID = ada
    ) async throws -> RecordOutcome {
        let held = user == owner ? try await lookup([name])[0] : try await sharedLookup([name], of: owner, by: user)[0]
        let operation = RecordOperation(
            .update,
            RecordChange(
                recordName: name, recordType: "cloudkit.share", changeTag: held.record?.changeTag ?? ChangeTag("none"),
                share: change))
        return user == owner
            ? try await modify([operation])[0] : try await modify([operation], of: owner, by: user)[0]
    }

    @discardableResult
    func accept(_ guid: String?, by user: UserID) async throws -> ShareInvitationOutcome {
        try await AcceptShares(cloud).run(
            [ShareInvitationRequest(shortGUID: guid ?? "none")], in: Self.address(.public), by: Caller(user: user))[0]
    }

    func resolve(
        _ guid: String?, by user: UserID?, withRoot: Bool = false
    ) async throws -> ShareInvitationOutcome {
        try await ResolveShares(cloud).run(
            [ShareInvitationRequest(shortGUID: guid ?? "none", shouldFetchRootRecord: withRoot)],
            in: Self.address(.public), by: Caller(user: user))[0]
    }

    /// Returns everything that a participant's feed reports from a token on, page by page.
    func follow(
        since token: String? = nil, limit: Int? = nil, by user: UserID, of owner: UserID = ada
    ) async throws -> (marks: [String], token: String) {
        var marks: [String] = []
        var token = token
        while true {
            let page = try await sharedChanges(of: owner, since: token, limit: limit, by: user)
            marks += page.events.map(\.mark)
            token = page.syncToken
            if !page.moreComing { return (marks, page.syncToken) }
        }
    }
}

func createShare(_ name: String, _ change: ShareChange) -> RecordOperation {
    RecordOperation(.create, RecordChange(recordName: name, recordType: "cloudkit.share", share: change))
}

func invite(_ user: UserID, _ permission: ParticipantPermission = .readWrite, role: ParticipantRole? = nil)
    -> ParticipantChange
{
    ParticipantChange(role: role, permission: permission, user: user)
}

extension ShareInvitationOutcome {
    var invitation: ShareInvitation? { if case .invitation(let invitation) = self { invitation } else { nil } }
    var code: RequestFailure.Code? { if case .failed(let failure) = self { failure.code } else { nil } }
}
