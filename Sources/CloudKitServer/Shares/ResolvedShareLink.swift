import CloudKitModel
import CloudKitRecordLayer

/// A share found by its link, as its owner's partition holds it.
struct ResolvedShareLink: Sendable {
    var zone: ZoneHeader
    var stored: StoredShare
    var record: StoredRecord
    var root: StoredRecord?

    /// nil: the link leads nowhere any more. Neither does one of a share that went with its root, when a record of the same
    /// name is shared later.
    ///
    /// - Parameter shortGUID: The link's own; one-time links are known by their participant.
    init?(at link: ShareLocation, opening shortGUID: String, _ view: some StorageView) async throws {
        guard let zone = try await view.zone(named: link.zoneName), zone.number == link.zone, zone.state == .live else {
            return nil
        }
        var name = Share.zoneWideName
        if let rootName = link.root {
            root = try await view.records(zone: zone.number, names: [rootName])[0]
            guard let root, !root.isTombstone, let share = root.share else { return nil }
            name = share
        }
        guard let stored = try await view.share(zone: zone.number, name: name),
            let record = try await view.records(zone: zone.number, names: [name])[0], !record.isTombstone
        else { return nil }
        guard link.participantID != nil || stored.shortGUID == shortGUID else { return nil }
        self.zone = zone
        self.stored = stored
        self.record = record
    }
}

/// The holder of a link.
struct LinkHolder: Hashable, Sendable {
    var user: UserID?
    /// The addresses and numbers that are known to be the user's.
    var proved = ProvedAddresses()
    /// The participant whose one-time link it is.
    var participantSlotID: String?

    func verdict(on share: StoredShare, ownedBy owner: UserID) -> ShareAuthorization.LinkVerdict {
        ShareAuthorization.verdict(
            onLinkOf: share, ownedBy: owner, for: user, proved: proved, participantSlotID: participantSlotID)
    }
}

extension StoredShare {
    /// Returns the share after the holder of its link has joined; nil: nothing changes.
    ///
    /// - Parameters:
    ///   - proved: The addresses and numbers that are known to be the user's.
    ///   - proof: The proof that the user has the link's secret; nil if there is none.
    ///   - slotID: The participant whose one-time link it is; nil: the share's own link.
    ///   - freshID: For a participant who comes by a public link.
    /// - Throws: `accessDenied` (B-ACP-03), `participantMayNeedVerification`, `tooManyParticipants`,
    ///   `authenticationRequired`.
    func accepted(
        by user: UserID, proved: ProvedAddresses, proof: [UInt8]? = nil, ofSlot slotID: String? = nil,
        _ verdict: ShareAuthorization.LinkVerdict, freshID: String, now: Int64
    ) throws(RequestFailure) -> StoredShare? {
        var share = self
        switch verdict {
        case .owner: return nil
        case .participant(let id), .slot(let id):
            guard let index = participants.firstIndex(where: { $0.id == id }) else { throw .notInvited }
            // A member may open another link, whose proof says nothing of the one by which the member came.
            let isOwnLink = participants[index].role == .publicUser ? slotID == nil : slotID == id
            let isNewProof = isOwnLink && proof != nil && proof != participants[index].linkProof
            if isNewProof { share.participants[index].linkProof = proof }
            if participants[index].acceptance == .accepted { return isNewProof ? share : nil }
            share.participants[index].user = user
            share.participants[index].acceptance = .accepted
            share.participants[index].oneTimeGUID = nil
            share.mergeParticipant(participants[index].id, invitedAs: proved)
        case .join(let permission):
            guard participants.count < ShareDecision.participantsMax else { throw .tooManyParticipants }
            share.participants.append(
                StoredParticipant(
                    id: freshID, role: .publicUser, permission: permission, acceptance: .accepted, user: user,
                    added: now))
            share.participants[share.participants.count - 1].linkProof = proof
        case .mayNeedVerification: throw .mayNeedVerification
        case .hide: throw .notInvited
        case .signIn: throw .notSignedIn
        }
        share.requesters.removeAll { $0.user == user }
        return share
    }

    /// Merges the slots to which a participant was invited by address before having an account: no user has
    /// two slots.
    private mutating func mergeParticipant(_ id: String, invitedAs proved: ProvedAddresses) {
        let isDouble = { (other: StoredParticipant) in
            other.user == nil && other.id != id && proved.include(other)
        }
        let doubles = participants.filter(isDouble)
        guard !doubles.isEmpty else { return }
        participants.removeAll(where: isDouble)
        guard let index = participants.firstIndex(where: { $0.id == id }) else { return }
        for double in doubles {
            participants[index].email = participants[index].email ?? double.email
            participants[index].phone = participants[index].phone ?? double.phone
            if double.role == .administrator { participants[index].role = .administrator }
            if double.permission == .readWrite { participants[index].permission = .readWrite }
        }
    }

    /// Returns the share with a user who requests access; nil: nothing changes (B-SHN-02 to B-SHN-04).
    ///
    /// - Throws: `participantAlreadyInvited`.
    func asked(by person: StoredPerson, _ verdict: ShareAuthorization.LinkVerdict) throws(RequestFailure)
        -> StoredShare?
    {
        switch verdict {
        case .participant(let id), .slot(let id):
            if participants.contains(where: { $0.id == id && $0.acceptance == .pending }) { throw .alreadyInvited }
            return nil
        case .owner, .signIn: return nil
        case .join, .mayNeedVerification, .hide: break
        }
        guard allowsAccessRequests, !blocked.contains(where: { $0.user == person.user }),
            !requesters.contains(where: { $0.user == person.user }), requesters.count < ShareDecision.requestersMax
        else { return nil }
        var share = self
        share.requesters.append(person)
        return share
    }
}

extension RequestFailure {
    /// B-ACP-03.
    static let notInvited = RequestFailure(
        .accessDenied, "the share has no invitation for this user", remedy: "Ask its owner for one.")

    /// B-ACP-02.
    static let mayNeedVerification = RequestFailure(
        .participantMayNeedVerification, "the invitation was sent to an address that this account has not proved",
        remedy: "Sign in with the account of that address, or ask for an invitation to this one.")

    /// B-SHN-04.
    static let alreadyInvited = RequestFailure(
        .participantAlreadyInvited, "the user is invited to the share already", remedy: "Accept the invitation.")

    /// B-ACP-02: as for a link that never was.
    package static let noSuchShare = RequestFailure(.itemNotFound, "Share not found")
}
