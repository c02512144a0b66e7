import CloudKitModel
import CloudKitWire
import Foundation

/// What a request for links came to, by link.
typealias LinkOutcomes<Value> = [(link: URL, result: Result<Value, CallFailure>)]

/// Calls about shares that are about no zone in particular: they go to the public database, whatever the database of the
/// requests.
extension DatabaseRequests {
    private var inPublic: DatabaseRequests {
        DatabaseRequests(connection: connection, scope: .public, settings: settings)
    }

    /// What is behind links (B-ACP-01).
    func shareMetadata(
        _ links: [URL], withRoot: Bool, desiredKeys: [String]?
    ) async throws -> LinkOutcomes<CKShareMetadata> {
        let requests = links.map {
            ShareInvitationRequest(
                shortGUID: ShareInvitationRequest.shortGUID(of: $0.path), shouldFetchRootRecord: withRoot,
                rootRecordDesiredKeys: desiredKeys)
        }
        let outcomes = try await invitations(.resolveShares, requests, needsUser: false)
        var results: LinkOutcomes<CKShareMetadata> = []
        for (link, outcome) in zip(links, outcomes) {
            switch outcome {
            case .failed(let failure): results.append((link, .failure(.refused(failure))))
            case .invitation(let invitation):
                let opened = try openedLink(link)
                try await learn(opened, of: invitation)
                results.append((link, .success(await metadata(invitation, opened: opened))))
            }
        }
        return results
    }

    /// Takes the seats that links offer; the zones are in the shared database when this returns (B-SHF-02).
    func acceptShares(
        _ metadatas: [CKShareMetadata]
    ) async throws -> [(metadata: CKShareMetadata, result: Result<OpenedRecord, CallFailure>)] {
        let container = try connection.place.get().container.name
        if let stranger = metadatas.first(where: { $0.containerIdentifier != container }) {
            throw CallFailure.refused(
                RequestFailure(
                    .badContainer, "the share belongs to the container \(stranger.containerIdentifier)",
                    remedy: "Accept it with that container."))
        }
        let requests = metadatas.map { ShareInvitationRequest(shortGUID: $0.opened.shortGUID) }
        let outcomes = try await invitations(.acceptShares, requests, needsUser: true)
        var results: [(metadata: CKShareMetadata, result: Result<OpenedRecord, CallFailure>)] = []
        for (metadata, outcome) in zip(metadatas, outcomes) {
            switch outcome {
            case .failed(let failure): results.append((metadata, .failure(.refused(failure))))
            case .invitation(let invitation):
                try await learn(metadata.opened, of: invitation)
                let opened = await self.in(invitation.scope).opened([invitation.share])
                results.append((metadata, opened.first.map { .success($0) } ?? .failure(.answerMalformed(status: 200))))
            }
        }
        return results
    }

    /// Participants for shares, in the order of the infos (B-PRT-05).
    func participants(_ infos: [LookupInfo]) async throws -> [ShareParticipant] {
        let request = LookupParticipantsRequest(infos)
        let participants = try await inPublic.call(.lookupParticipants, request.wire(), needsUser: true) {
            try [ShareParticipant](wireAnswer: $0)
        }
        return try counted(participants, infos.count)
    }

    /// Asks to be let into the shares behind links (B-SHN-02).
    func requestAccess(_ links: [URL]) async throws -> LinkOutcomes<Void> {
        let requests = links.map { ShareInvitationRequest(shortGUID: ShareInvitationRequest.shortGUID(of: $0.path)) }
        let failures = try await inPublic.call(.requestShareAccess, requests.wire(), needsUser: true) {
            try [RequestFailure?](wireAnswer: $0)
        }
        return zip(links, try counted(failures, links.count)).map { link, failure in
            (link, failure.map { .failure(.refused($0)) } ?? .success(()))
        }
    }

    private func invitations(
        _ endpoint: Endpoint, _ requests: [ShareInvitationRequest], needsUser: Bool
    ) async throws -> [ShareInvitationOutcome] {
        try RequestLimits.check(items: requests.count)
        if requests.isEmpty { return [] }
        let outcomes = try await inPublic.call(endpoint, requests.wire(), needsUser: needsUser) {
            try [ShareInvitationOutcome](wireAnswer: $0)
        }
        return try counted(outcomes, requests.count)
    }

    private func openedLink(_ url: URL) throws -> ShareLink {
        ShareLink(
            endpoint: try connection.place.get().endpoint, shortGUID: ShareInvitationRequest.shortGUID(of: url.path),
            fragment: url.fragment)
    }

    private func metadata(_ invitation: ShareInvitation, opened link: ShareLink) async -> CKShareMetadata {
        var opened = await self.in(invitation.scope).opened(
            [invitation.share] + (invitation.rootRecord.map { [$0] } ?? []))[...]
        let share = opened.popFirst() ?? OpenedRecord(invitation.share)
        return CKShareMetadata(invitation, share: share, root: opened.popFirst(), opened: link)
    }

    /// The same way to another of the container's databases.
    func `in`(_ scope: DatabaseScope) -> DatabaseRequests {
        scope == self.scope ? self : DatabaseRequests(connection: connection, scope: scope, settings: settings)
    }
}
