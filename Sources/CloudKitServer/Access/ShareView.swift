import CloudKitModel
import CloudKitRecordLayer

/// Shows a share as one caller may see it (B-PRT-08, B-SHN-03).
///
/// Owner and administrators see everything; others see who has accepted a private share, and of a public one its owner and
/// themselves. Addresses and links of others are for owner and administrators.
struct ShareView: Sendable {
    /// The owner of the database with the share.
    let owner: UserID
    /// nil: no user is signed in.
    let viewer: UserID?

    func share(_ stored: StoredShare, epochs: [ShareKeyEpoch] = []) -> Share {
        let isManager = isManager(of: stored)
        var share = Share(root: stored.root, publicPermission: stored.publicPermission)
        share.participants = [ownerEntry(stored)]
        for participant in stored.participants {
            let isSelf = participant.user != nil && participant.user == viewer
            let isShown =
                isManager || isSelf || (stored.publicPermission == .none && participant.acceptance == .accepted)
            if isShown { share.participants.append(entry(participant, of: stored, isFull: isManager || isSelf)) }
        }
        share.currentParticipantID = participantID(in: stored)
        share.allowsAccessRequests = stored.allowsAccessRequests
        if isManager {
            share.requesters = stored.requesters.map(\.identity)
            share.blocked = stored.blocked.map(\.identity)
        }
        if stored.keyEpoch > 0 { share.keys = keys(stored, isManager: isManager, epochs) }
        return share
    }

    /// Returns whether the viewer is the owner or an administrator of the share.
    func isManager(of stored: StoredShare) -> Bool {
        guard let viewer else { return false }
        if viewer == owner { return true }
        return stored.participants.contains {
            $0.user == viewer && $0.role == .administrator && $0.acceptance == .accepted
        }
    }

    func participantID(in stored: StoredShare) -> String? {
        guard let viewer else { return nil }
        return viewer == owner ? stored.ownerID : stored.participant(of: viewer)?.id
    }

    private func ownerEntry(_ stored: StoredShare) -> ShareParticipant {
        ShareParticipant(
            id: stored.ownerID, role: .owner, permission: .readWrite, acceptance: .accepted,
            identity: PersonIdentity(user: owner), keyEpoch: stored.ownerKeyEpoch == 0 ? nil : Int(stored.ownerKeyEpoch)
        )
    }

    private func entry(
        _ participant: StoredParticipant, of stored: StoredShare, isFull: Bool
    ) -> ShareParticipant {
        var lookup = LookupInfo(emailAddress: participant.email, phoneNumber: participant.phone)
        if lookup.isEmpty { lookup.user = participant.user }
        var entry = ShareParticipant(
            id: participant.id, role: participant.role, permission: stored.permission(of: participant),
            acceptance: participant.acceptance,
            identity: PersonIdentity(user: participant.user, lookup: isFull && !lookup.isEmpty ? lookup : nil),
            oneTimeGUID: isFull ? participant.oneTimeGUID : nil, isApprovedRequester: participant.isApprovedRequester,
            added: participant.added, keyEpoch: participant.keyEpoch == 0 ? nil : Int(participant.keyEpoch))
        if isFull { entry.keyIdentity = participant.keyIdentity }
        if isManager(of: stored) { entry.linkProof = participant.linkProof }
        if viewer == owner, participant.grantEpoch > 0 { entry.grantEpoch = Int(participant.grantEpoch) }
        return entry
    }

    private func keys(_ stored: StoredShare, isManager: Bool, _ epochs: [ShareKeyEpoch]) -> ShareKeys {
        ShareKeys(
            epoch: Int(stored.keyEpoch), needsNewEpoch: isManager && stored.needsNewEpoch,
            waiting: isManager ? stored.waiting.map(\.id) : [], epochs: epochs)
    }

    /// Returns the participants who wait for a key of the newest epoch, as owner and administrators see them.
    func waiting(in stored: StoredShare) -> [ShareParticipant] {
        isManager(of: stored) ? stored.waiting.map { entry($0, of: stored, isFull: true) } : []
    }
}

extension StoredShare {
    /// Participants with an account and without a wrap of the newest epoch. Participants who joined by the link have its secret.
    var waiting: [StoredParticipant] {
        guard keyEpoch > 0 else { return [] }
        return participants.filter { participant in
            participant.user != nil && participant.keyEpoch < keyEpoch
                && !(participant.role == .publicUser && hasLink)
        }
    }
}

extension StoredPerson {
    fileprivate var identity: PersonIdentity {
        PersonIdentity(user: user, lookup: email.map { LookupInfo(emailAddress: $0) } ?? LookupInfo(user: user))
    }
}

extension StorageView {
    /// Attaches the shares to records that are shares, as far as the caller may see them; names of users are still
    /// missing.
    func attachShares(to records: inout [Record], zone: UInt32, in place: DatabaseContext) async throws {
        let positions = records.indices.filter { records[$0].isShare }
        if positions.isEmpty { return }
        let stored = try await shares(zone: zone, names: positions.map { records[$0].id.recordName })
        let view = ShareView(owner: place.owner, viewer: place.caller.user)
        for case (let position, let share?) in zip(positions, stored) {
            let epochs = try await shareKeyEpochs(of: share, zone: zone, for: view, limit: ShareKeys.epochsShown)
            records[position].sharing = view.share(share, epochs: epochs)
        }
    }

    /// Returns the newest epochs of a share's keys that a viewer may have, newest first.
    ///
    /// - Parameter before: Only epochs before this one.
    func shareKeyEpochs(
        of share: StoredShare, zone: UInt32, for view: ShareView, before: Int? = nil, limit: Int
    ) async throws -> [ShareKeyEpoch] {
        let newest = min(Int(share.keyEpoch), before.map { $0 - 1 } ?? .max)
        guard newest >= 1 else { return [] }
        let id = view.participantID(in: share)
        let epochs = stride(from: newest, to: max(0, newest - limit), by: -1).map { UInt32($0) }
        func name(_ epoch: UInt32, _ part: ShareKeyName.Part) -> ShareKeyName {
            ShareKeyName(share: share.number, epoch: epoch, part: part)
        }
        let names =
            epochs.flatMap { epoch in
                [name(epoch, .blob), name(epoch, .link), name(epoch, .wrap(participantID: id ?? ""))]
            } + [name(share.keyEpoch, .statement)]
        let values = try await shareKeys(zone: zone, names)
        return epochs.enumerated().map { index, epoch in
            ShareKeyEpoch(
                epoch: Int(epoch), blob: values[3 * index], link: values[3 * index + 1],
                wrap: id == nil ? nil : values[3 * index + 2],
                statement: epoch == share.keyEpoch ? values[3 * epochs.count] : nil)
        }
    }
}

extension [RecordOutcome] {
    /// Returns the outcomes with shares attached, also to the records of conflicts, as far as the caller may see them.
    func attachingShares(_ view: some StorageView, zone: UInt32, in place: DatabaseContext) async throws
        -> [RecordOutcome]
    {
        var outcomes = self
        for (position, outcome) in enumerated() {
            switch outcome {
            case .record(let record) where record.isShare:
                var records = [record]
                try await view.attachShares(to: &records, zone: zone, in: place)
                outcomes[position] = .record(records[0])
            case .failed(let name, var failure):
                guard let record = failure.serverRecord?.value, record.isShare else { continue }
                var records = [record]
                try await view.attachShares(to: &records, zone: zone, in: place)
                failure.serverRecord = RequestFailure.Box(records[0])
                outcomes[position] = .failed(recordName: name, failure)
            default: break
            }
        }
        return outcomes
    }
}
