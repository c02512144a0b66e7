import CloudKitModel
import CloudKitRecordLayer

/// Accepts shares by their links (B-ACP-03 to B-ACP-05).
package struct AcceptShares: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    private var links: ShareLinks { ShareLinks(cloud) }

    /// Accepts the shares of links (B-ACP-03 to B-ACP-05). The zone is in the caller's shared database when this
    /// returns (B-SHF-02).
    package func run(
        _ requests: [ShareInvitationRequest], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [ShareInvitationOutcome] {
        try links.checkInvitations(requests.count, address: address, caller: caller)
        guard let user = caller.user else { throw RequestFailure.notSignedIn }
        let person = try await links.holder(caller)
        var outcomes: [ShareInvitationOutcome] = []
        var allowance = AnswerAllowance(bytesMax: cloud.limits.answerBytesMax)
        for request in requests {
            if allowance.isSpent {
                outcomes.append(.failed(.answerFull))
                continue
            }
            do {
                guard let link = try await links.link(request.shortGUID, in: address) else {
                    throw RequestFailure.noSuchShare
                }
                try await accept(link, request: request, user: user, person: person, caller: caller)
                let invitation = try await links.resolve(request, link: link, person: person, caller: caller)
                // The share is accepted, so the answer has it even if it exceeds the allowance; the next ones wait.
                _ = allowance.take(invitation)
                outcomes.append(.invitation(invitation))
            } catch let failure as RequestFailure {
                outcomes.append(.failed(failure))
            }
        }
        return outcomes
    }

    private func accept(
        _ link: ShareLocation, request: ShareInvitationRequest, user: UserID, person: LinkHolder, caller: Caller
    ) async throws {
        guard request.linkProof?.count ?? 0 <= ShareKeys.linkProofBytesMax else {
            throw RequestFailure(
                .badRequest, "BadRequestException: bad linkProof",
                remedy: "A proof has at most \(ShareKeys.linkProofBytesMax) bytes.")
        }
        let holder = person.opening(link)
        let freshID = RecordName.random(cloud.serverEnvironment)
        let now = cloud.serverEnvironment.now()
        let own = StoragePartition.privateDatabase(link.container, link.environment, of: user)
        try await cloud.registry.enter(own)
        try await links.changeShare(
            at: link, opening: request.shortGUID, by: caller, with: own,
            after: { transaction, zone in
                try await transaction.join(zone, of: link.owner, user, in: own)
            },
            { share in
                try share.accepted(
                    by: user, proved: person.proved, proof: request.linkProof, ofSlot: link.participantID,
                    holder.verdict(on: share, ownedBy: link.owner), freshID: freshID,
                    now: now)
            })
    }
}

extension StorageWriter {
    /// Puts a zone into a user's shared database, at its newest place (B-SHF-01). Home is the owner's partition.
    fileprivate mutating func join(
        _ zone: ZoneHeader, of owner: UserID, _ user: UserID, in partition: StoragePartition
    ) async throws {
        guard let member = try await shareMember(zone: zone.number, user: user) else { return }
        try await databaseHeader(in: partition).checkIsOpen()
        var header = try await joinedHeader(in: partition)
        let held = try await joinedZone(owner, zone.name, in: partition)
        var joined = JoinedZone(
            owner: owner, zoneName: zone.name, zone: zone.number, noted: member.slots.map(\.joined).max() ?? 0)
        joined.feedVersion = held?.feedVersion ?? 0
        try move(&joined, &header, in: partition)
    }
}
