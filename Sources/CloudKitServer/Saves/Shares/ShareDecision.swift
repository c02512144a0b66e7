import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer

/// The outcome of saving a share, decided before anything is written: its participants afterwards and the keys to store.
package struct ShareDecision: Sendable {
    /// The share as it will be stored.
    package private(set) var share: StoredShare
    /// Key bytes to be stored.
    package private(set) var keys: [ShareKeyName: StorageBytes] = [:]
    /// New one-time links, with their participants.
    package private(set) var links: [String: String] = [:]
    /// A flag for a key epoch of the zone that begins with one of the share, so that both stay aligned.
    package private(set) var beginsZoneEpoch = false
    private let owner: UserID
    private let actor: UserID?
    private let zoneEpoch: UInt32
    private let now: Int64

    /// The most participants of one share in addition to its owner (B-LIM-08).
    package static let participantsMax = 100
    /// The most users who wait for an answer or are blocked.
    package static let requestersMax = 500

    /// Decides a change of a share by its owner or an administrator.
    ///
    /// Rules B-PRT-01 to B-PRT-06, B-SHN-01, B-SHN-03, B-LIM-08. Applied in this order: public permission, users
    /// blocked, denied and unblocked, participants, keys.
    ///
    /// - Parameters:
    ///   - held: The share before the change; for a new one, the share without participants.
    ///   - owner: The owner of its database.
    ///   - actor: The user who changes it; nil: unknown.
    ///   - zoneEpoch: The key epoch of its zone.
    /// - Throws: `badRequest`, `tooManyParticipants`, `staleShareKeyEpoch`, `staleKeyEpoch`, `sizeLimitExceeded`.
    package init(
        _ change: ShareChange, of held: StoredShare, ownedBy owner: UserID, by actor: UserID? = nil, zoneEpoch: UInt32,
        oneTimeGUIDs: [String: String] = [:], now: Int64
    ) throws(RequestFailure) {
        share = held
        self.zoneEpoch = zoneEpoch
        self.owner = owner
        self.actor = actor
        self.now = now
        try apply(change.publicPermission)
        apply(denied: change.denied, blocked: change.blocked, unblocked: change.unblocked)
        if let allows = change.allowsAccessRequests { share.allowsAccessRequests = allows }
        if let participants = change.participants { try apply(participants, oneTimeGUIDs) }
        detectLostKeys(since: held)
        if let keys = change.keys { try apply(keys) }
    }

    /// Gives the share the link that its root has, or had.
    mutating func replaceShortGUID(_ guid: String) { share.shortGUID = guid }

    // MARK: Public permission

    /// Rule B-PRT-04.
    private mutating func apply(_ permission: ParticipantPermission?) throws(RequestFailure) {
        guard let permission, permission != .unknown else { return }
        if share.publicPermission == .none, permission != .none {
            share.participants.removeAll { $0.acceptance == .pending }
        }
        if permission == .none { share.participants.removeAll { $0.role == .publicUser } }
        share.publicPermission = permission
    }

    private mutating func apply(denied: [UserID], blocked: [UserID], unblocked: [UserID]) {
        let denied = Set(denied)
        let blocked = Set(blocked).subtracting([owner])
        let unblocked = Set(unblocked)
        for user in blocked where !share.blocked.contains(where: { $0.user == user }) {
            guard share.blocked.count < Self.requestersMax else { break }
            let known = share.requesters.first { $0.user == user }
            share.blocked.append(known ?? StoredPerson(user: user, email: share.participant(of: user)?.email))
        }
        share.blocked.removeAll { unblocked.contains($0.user) }
        share.blocked.sort { $0.user.recordName < $1.user.recordName }
        share.requesters.removeAll { denied.contains($0.user) || blocked.contains($0.user) }
        share.participants.removeAll { $0.user.map(blocked.contains) ?? false }
    }

    // MARK: Participants

    private mutating func apply(
        _ changes: [ParticipantChange], _ oneTimeGUIDs: [String: String]
    ) throws(RequestFailure) {
        var result: [StoredParticipant] = []
        for change in changes {
            if (change.user ?? change.lookup?.user) == owner || change.id == share.ownerID { continue }
            let wanted = try participant(change, among: result, oneTimeGUIDs)
            if let index = result.firstIndex(where: { $0.id == wanted.id }) {
                result[index] = wanted
            } else {
                result.append(wanted)
            }
        }
        // Rule B-PRT-03: the stored value sent again changes nothing and passes.
        if share.publicPermission != .none {
            guard result.hasSameParticipants(as: share.participants) else {
                throw RequestFailure(
                    .badRequest, "participants can be edited only while publicPermission is NONE",
                    remedy: "Set publicPermission to NONE, or leave the participants out.")
            }
            return
        }
        guard result.count <= Self.participantsMax else { throw .tooManyParticipants }
        share.participants = result
        let present = Set(result.compactMap(\.user))
        share.requesters.removeAll { present.contains($0.user) }
        share.blocked.removeAll { present.contains($0.user) }
    }

    private mutating func participant(
        _ change: ParticipantChange, among others: [StoredParticipant], _ oneTimeGUIDs: [String: String]
    ) throws(RequestFailure) -> StoredParticipant {
        var result: StoredParticipant
        if let known = known(change, among: others) ?? known(change, among: share.participants) {
            result = known
        } else {
            result = try newParticipant(change, oneTimeGUIDs)
        }
        switch change.role {
        case .administrator?, .privateUser?: if result.role != .publicUser { result.role = change.role ?? result.role }
        case .owner?:
            throw RequestFailure(.badRequest, "a share has one owner", remedy: "Use another role.")
        case .publicUser?, .unknown?, nil: break
        }
        if let permission = change.permission, permission != .unknown { result.permission = permission }
        // Administrators can write; a former administrator needs a new grant.
        if result.role == .administrator { result.permission = .readWrite } else { result.grantEpoch = 0 }
        return result
    }

    /// Rule B-PRT-06: who is there already is changed, not added. The address of an invitation to a user may be that of another account by now, or
    /// of none: two users are never one participant, and without a user it is that of a member at most.
    private func known(_ change: ParticipantChange, among participants: [StoredParticipant]) -> StoredParticipant? {
        let user = change.user ?? change.lookup?.user
        let email = change.lookup?.normalisedEmail
        let phone = change.lookup?.normalisedPhone
        return participants.first { $0.id == change.id }
            ?? participants.first { user != nil && $0.user == user }
            ?? participants.first { participant in
                (participant.user == nil || user == nil && participant.acceptance == .accepted)
                    && (email != nil && participant.email == email || phone != nil && participant.phone == phone)
            }
    }

    private mutating func newParticipant(
        _ change: ParticipantChange, _ oneTimeGUIDs: [String: String]
    ) throws(RequestFailure) -> StoredParticipant {
        let user = change.user ?? change.lookup?.user
        let email = change.lookup?.normalisedEmail
        let phone = change.lookup?.normalisedPhone
        guard let id = change.id, Self.isID(id) else {
            throw RequestFailure(
                .badRequest, "BadRequestException: bad participantId", remedy: "Use 1 to 64 ASCII characters.")
        }
        if let user, user.isCaller || !Self.isID(user.recordName) {
            throw RequestFailure(.badRequest, "BadRequestException: bad userRecordName")
        }
        guard change.isOneTime || user != nil || email != nil || phone != nil else {
            throw RequestFailure(
                .badRequest, "a participant needs an identity",
                remedy: "Send a user record name, an e-mail address or a phone number, or make it a one-time link.")
        }
        var participant = StoredParticipant(
            id: id, role: .privateUser, permission: .readOnly, acceptance: .pending, user: user, email: email,
            phone: phone, added: now)
        if change.isOneTime, user == nil {
            participant.oneTimeGUID = oneTimeGUIDs[id]
            if let guid = participant.oneTimeGUID { links[guid] = id }
        }
        participant.isApprovedRequester = user.map { user in share.requesters.contains { $0.user == user } } ?? false
        return participant
    }

    /// Ids come from clients and end up in keys.
    private static func isID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21..<0x7F).contains($0) }
    }

    // MARK: Keys

    /// Marks new keys as due when a participant with the newest ones is gone (B-TM-05).
    private mutating func detectLostKeys(since held: StoredShare) {
        guard share.keyEpoch > 0 else { return }
        let present = Set(share.participants.map(\.id))
        if held.participants.contains(where: { $0.keyEpoch == held.keyEpoch && !present.contains($0.id) }) {
            share.needsNewEpoch = true
        }
        // The grant of a former administrator ends with the owner's next epoch.
        let administrators = Set(share.participants.lazy.filter { $0.role == .administrator }.map(\.id))
        if held.participants.contains(where: { $0.grantEpoch > 0 && !administrators.contains($0.id) }) {
            share.needsNewEpoch = true
        }
        // Every holder of the link had its key.
        if held.publicPermission != .none, share.publicPermission == .none, share.hasLink { share.needsNewEpoch = true }
    }

    /// The first epoch of a share is the one after its zone's. The zone's rises with every later one and with the end of a
    /// share, so no share of a name has an epoch that an earlier one had.
    private mutating func apply(_ change: ShareKeyChange) throws(RequestFailure) {
        if share.keyEpoch == 0, change.epoch != Int(zoneEpoch) + 1 { throw .staleKeyEpoch }
        let isNext = change.epoch > Int(share.keyEpoch)
        guard share.keyEpoch == 0 || change.epoch == Int(share.keyEpoch) || change.epoch == Int(share.keyEpoch) + 1,
            change.begins ?? isNext == isNext
        else {
            throw RequestFailure(
                .staleShareKeyEpoch, "the share's keys are of epoch \(share.keyEpoch)",
                remedy: "Fetch the share, and store keys of its epoch or of the next one.")
        }
        guard change.epoch <= ShareKeys.epochsMax, change.blob?.count ?? 0 <= ShareKeys.blobBytesMax,
            change.link?.count ?? 0 <= ShareKeys.wrapBytesMax,
            change.statement?.bytes.count ?? 0 <= ShareKeys.statementBytesMax,
            change.wraps.allSatisfy({
                $0.bytes.count <= ShareKeys.wrapBytesMax
                    && $0.identity?.utf8.count ?? 0 <= ShareKeys.fingerprintDigits
            }),
            change.wraps.count <= Self.participantsMax + 1
        else {
            throw RequestFailure(
                .sizeLimitExceeded, "too many or too large keys",
                remedy: "A wrap has at most \(ShareKeys.wrapBytesMax) bytes, a blob \(ShareKeys.blobBytesMax), "
                    + "a statement \(ShareKeys.statementBytesMax).")
        }
        try apply(change.statement, inNextEpoch: isNext)
        if isNext {
            if isAdministrators { try checkAdministrator(change) }
            beginsZoneEpoch = share.keyEpoch > 0
            share.keyEpoch = UInt32(change.epoch)
            share.needsNewEpoch = false
            share.hasLink = false
        }
        func name(_ part: ShareKeyName.Part) -> ShareKeyName {
            ShareKeyName(share: share.number, epoch: share.keyEpoch, part: part)
        }
        if let blob = change.blob { keys[name(.blob)] = blob }
        if let link = change.link {
            keys[name(.link)] = link
            share.hasLink = true
        }
        if let statement = change.statement { keys[name(.statement)] = statement.bytes }
        for wrap in change.wraps {
            try note(wrap)
            keys[name(.wrap(participantID: wrap.participantID))] = wrap.bytes
        }
    }

    /// Each statement is the next one: of two devices that change the same statement only one succeeds. An epoch that begins
    /// without a statement has none, and its first one is number 1 again.
    private mutating func apply(
        _ statement: ShareKeyChange.Statement?, inNextEpoch isNext: Bool
    ) throws(RequestFailure) {
        guard let statement else {
            if isNext { share.statementCounter = 0 }
            return
        }
        let held = share.keyEpoch == 0 ? 0 : share.statementCounter
        guard statement.counter > 0, UInt64(statement.counter) == held + 1 else {
            throw RequestFailure(
                .staleShareKeyEpoch, "the newest statement of the share has the number \(held)",
                remedy: "Fetch the share, and make the statement that follows its own.")
        }
        share.statementCounter = UInt64(statement.counter)
    }

    /// Checks that an administrator may begin an epoch: a participant is gone, and the owner gets its key. Where a link admits
    /// any user, only the owner can make the wrap for it.
    private mutating func checkAdministrator(_ change: ShareKeyChange) throws(RequestFailure) {
        guard share.keyEpoch > 0, share.needsNewEpoch, share.publicPermission == .none else {
            throw RequestFailure(
                .staleShareKeyEpoch, "no epoch of the share's keys is due that an administrator could begin",
                remedy: "Fetch the share, and leave it to a device of the owner's.")
        }
        guard change.wraps.contains(where: { $0.participantID == share.ownerID }) else {
            throw RequestFailure(
                .badRequest, "a new key of the share without a wrap for its owner",
                remedy: "Seal the key to the owner, too.")
        }
    }

    /// A flag for changes by another user than the owner.
    private var isAdministrators: Bool { actor.map { $0 != owner } ?? false }

    private mutating func note(_ wrap: ShareKeyChange.Wrap) throws(RequestFailure) {
        if wrap.participantID == share.ownerID {
            // The owner derives the keys of their own epochs.
            guard isAdministrators, beginsZoneEpoch else {
                throw RequestFailure(
                    .badRequest, "a wrap for the owner belongs to an epoch that an administrator begins",
                    remedy: "Leave it out.")
            }
            share.ownerKeyEpoch = share.keyEpoch
        } else if let index = share.participants.firstIndex(where: { $0.id == wrap.participantID }) {
            let participant = share.participants[index]
            if let known = participant.keyIdentity, let identity = wrap.identity, known != identity {
                // The holder of the old keys counts as another person, who had the newest key of the share (B-TM-05).
                if participant.keyEpoch == share.keyEpoch { share.needsNewEpoch = true }
                share.participants[index].grantEpoch = 0
            }
            share.participants[index].keyEpoch = share.keyEpoch
            share.participants[index].keyIdentity = wrap.identity
            if actor == owner, share.participants[index].role == .administrator {
                share.participants[index].grantEpoch = share.keyEpoch
            }
        } else {
            throw RequestFailure(
                .badRequest, "a key is wrapped for a user who does not take part",
                remedy: "Fetch the share, and wrap keys for its participants.")
        }
    }
}

extension [StoredParticipant] {
    /// Returns whether both lists have the same participants with the same rights, in any order.
    fileprivate func hasSameParticipants(as other: [StoredParticipant]) -> Bool {
        count == other.count
            && allSatisfy { mine in
                other.contains { $0.id == mine.id && $0.role == mine.role && $0.permission == mine.permission }
            }
    }
}

extension LookupInfo {
    /// The address as accounts store it; nil for a text that is no address.
    package var normalisedEmail: String? { emailAddress.flatMap { EmailAddress($0)?.normalised } }
}

extension RequestFailure {
    /// B-LIM-08.
    static let tooManyParticipants = RequestFailure(
        .tooManyParticipants, "a share can have \(ShareDecision.participantsMax) participants",
        remedy: "Remove a participant first.")
}
