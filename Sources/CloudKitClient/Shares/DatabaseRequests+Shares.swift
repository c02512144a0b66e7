import CloudKitEncryption
import CloudKitModel
import CloudKitWire
import Foundation

/// The share behind a link, before or after it is accepted.
package struct ResolvedShare: Sendable {
    /// The invitation as the server sent it.
    package var invitation: ShareInvitation
    /// The invitation's share with its values opened.
    package var share: OpenedRecord
    /// The same of its root.
    package var root: OpenedRecord?
    /// The link as it was opened: a one-time link has another GUID than its share.
    package var link: ShareLink
}

/// The outcomes of a request for links, by link.
package typealias LinkOutcomes<Value> = [(link: URL, result: Result<Value, CallFailure>)]

/// Calls about shares that concern no zone in particular: they go to the public database, whatever the database of the
/// requests.
extension DatabaseRequests {
    private var inPublic: DatabaseRequests {
        DatabaseRequests(connection: connection, scope: .public, settings: settings)
    }

    /// Returns the metadata of the shares behind links (B-ACP-01).
    package func shareMetadata(
        _ links: [URL], withRoot: Bool, desiredKeys: [String]?
    ) async throws -> LinkOutcomes<ResolvedShare> {
        let requests = links.map {
            ShareInvitationRequest(
                shortGUID: ShareInvitationRequest.shortGUID(of: $0.path), shouldFetchRootRecord: withRoot,
                rootRecordDesiredKeys: desiredKeys)
        }
        let outcomes = try await invitations(.resolveShares, requests, needsUser: false)
        var results: LinkOutcomes<ResolvedShare> = []
        for (link, outcome) in zip(links, outcomes) {
            switch outcome {
            case .failed(let failure): results.append((link, .failure(.refused(failure))))
            case .invitation(let invitation):
                let opened = try openedLink(link)
                try await learn(opened, of: invitation)
                results.append((link, .success(await metadata(invitation, opened: opened, desiredKeys: desiredKeys))))
            }
        }
        return results
    }

    /// Takes the participant slots that links offer; the zones are in the shared database when this returns (B-SHF-02).
    package func acceptShares(
        _ links: [(container: String, link: ShareLink, share: RecordID)]
    ) async throws -> [Result<OpenedRecord, CallFailure>] {
        let container = try connection.cloud.place.get().container.name
        if let stranger = links.first(where: { $0.container != container }) {
            throw CallFailure.refused(
                RequestFailure(
                    .badContainer, "the share belongs to the container \(stranger.container)",
                    remedy: "Accept it with that container."))
        }
        var requests: [ShareInvitationRequest] = []
        for offer in links {
            requests.append(
                ShareInvitationRequest(
                    shortGUID: offer.link.shortGUID, linkProof: try await proof(of: offer.link, share: offer.share)))
        }
        let outcomes = try await invitations(.acceptShares, requests, needsUser: true)
        var results: [Result<OpenedRecord, CallFailure>] = []
        for (link, outcome) in zip(links.map(\.link), outcomes) {
            switch outcome {
            case .failed(let failure): results.append(.failure(.refused(failure)))
            case .invitation(let invitation):
                try await learn(link, of: invitation)
                let opened = await self.in(invitation.scope).opened([invitation.share])
                results.append(opened.first.map { .success($0) } ?? .failure(.answerMalformed(status: 200)))
            }
        }
        return results
    }

    /// Returns the proof that this account has the secret of a link, so that owner and administrators give it keys; nil if the
    /// link has none.
    ///
    /// - Throws: Where this device has no keys, or could not look: a member who has joined without the proof never gets keys.
    private func proof(of link: ShareLink, share: RecordID) async throws -> [UInt8]? {
        guard connection.cloud.surface.isNative,
            let secret = link.fragment.flatMap({ try? ShareLinkSecret(fragment: $0) })
        else { return nil }
        let keys = try await self.in(.shared).zoneKeys(share.zoneID)
        let identity = try keys.access.secret.identity().publicIdentity
        return secret.proof(
            of: keys.access.user, identity: identity.fingerprint,
            share: RecordAddress(zone: keys.place, name: share.recordName))
    }

    /// Participants for shares, in the order of the infos (B-PRT-05).
    package func participants(_ infos: [LookupInfo]) async throws -> [ShareParticipant] {
        guard connection.cloud.surface.isNative else { return infos.map(ShareParticipant.init(unverified:)) }
        let request = LookupParticipantsRequest(infos)
        let participants = try await inPublic.call(.lookupParticipants, request.wire(), needsUser: true) {
            try [ShareParticipant](wireAnswer: $0)
        }
        return try counted(participants, infos.count)
    }

    /// Asks to be let into the shares behind links (B-SHN-02).
    package func requestAccess(_ links: [URL]) async throws -> LinkOutcomes<Void> {
        let requests = links.map { ShareInvitationRequest(shortGUID: ShareInvitationRequest.shortGUID(of: $0.path)) }
        let failures = try await inPublic.call(.requestShareAccess, requests.wire(), needsUser: true) {
            try [RequestFailure?](wireAnswer: $0)
        }
        return zip(links, try counted(failures, links.count)).map { link, failure in
            (link, failure.map { .failure(.refused($0)) } ?? .success(()))
        }
    }

    private func invitations(
        _ endpoint: CloudEndpoint, _ requests: [ShareInvitationRequest], needsUser: Bool
    ) async throws -> [ShareInvitationOutcome] {
        try RequestLimits.check(items: requests.count)
        if requests.isEmpty { return [] }
        return try await fetchingRest(requests.count) { positions in
            let part = positions.map { requests[$0] }
            let outcomes = try await inPublic.call(endpoint, part.wire(), needsUser: needsUser) {
                try [ShareInvitationOutcome](wireAnswer: $0)
            }
            return try counted(outcomes, part.count)
        } isLeftOut: {
            if case .failed(let failure) = $0 { failure.isAnswerFull } else { false }
        }
    }

    private func openedLink(_ url: URL) throws -> ShareLink {
        ShareLink(
            endpoint: try connection.cloud.place.get().endpoint,
            shortGUID: ShareInvitationRequest.shortGUID(of: url.path),
            fragment: url.fragment)
    }

    private func metadata(
        _ invitation: ShareInvitation, opened link: ShareLink, desiredKeys: [String]?
    ) async -> ResolvedShare {
        let records = [invitation.share] + (invitation.rootRecord.map { [$0] } ?? [])
        let wanted = [nil, desiredKeys.map(Set.init)].prefix(records.count)
        var opened = await self.in(invitation.scope).opened(records, wanted: Array(wanted))[...]
        let share = opened.popFirst() ?? OpenedRecord(invitation.share)
        return ResolvedShare(invitation: invitation, share: share, root: opened.popFirst(), link: link)
    }

    /// The same way to another of the container's databases.
    package func `in`(_ scope: DatabaseScope) -> DatabaseRequests {
        scope == self.scope ? self : DatabaseRequests(connection: connection, scope: scope, settings: settings)
    }
}

extension ShareParticipant {
    /// Creates a participant of whom documented web services say nothing before the share is saved.
    fileprivate init(unverified info: LookupInfo) {
        self.init(
            id: UUID().uuidString, role: .privateUser, permission: .readWrite, acceptance: .pending,
            identity: PersonIdentity(user: info.user, lookup: info))
    }
}
