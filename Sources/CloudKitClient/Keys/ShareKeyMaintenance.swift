import CloudKitEncryption
import CloudKitModel

/// The key maintenance that a share needs from a device of its owner or of an administrator, decided from the cloud's
/// description of it as far as the share's statement confirms it (B-TM-05, B-TM-06).
struct ShareKeyMaintenance: Hashable, Sendable {
    /// The share has no keys at all: a client without keys began it.
    var needsFirstKey = false
    /// A participant who had the newest key was removed, or has another identity than the one that received it; or the
    /// newest key is an administrator's, which one of the owner's follows.
    var needsKeyRotation = false
    /// Participants with a public identity and without the newest key; for the owner, also administrators who were not given
    /// the right to invite in the newest epoch.
    var participantsWithoutKey: [ShareParticipant] = []
    /// One-time links without the newest key, by participant.
    var slots: [String] = []
    /// A Boolean value that indicates whether the public link does not open the newest epoch.
    var isLinkMissing = false
    /// A Boolean value that indicates whether participants of a share of the whole zone do not have the zone's newest
    /// key.
    var isKeyringOutdated = false

    /// - Parameter lostEpoch: The highest epoch that the share had in a state of the cloud that is lost: the owner begins later ones, since
    ///   others may have those keys, and devices that have seen them take the share for one that went back in time.
    /// - Returns: nil: nothing is to be done, or not by this user.
    init?(_ sharing: Share, of share: RecordAddress, by zoneKeys: ZoneKeys, lostEpoch: UInt32 = 0) {
        let isOwner = zoneKeys.isOwn
        guard let user = sharing.currentParticipant, user.role == .owner || user.role == .administrator,
            user.acceptance == .accepted
        else { return nil }
        guard let keys = sharing.keys, keys.epoch > 0 else {
            guard isOwner else { return nil }
            needsFirstKey = true
            return
        }
        let others = sharing.participants.filter { $0.role != .owner && $0.acceptance != .removed }
        let replaced = others.filter(\.hasReplacedIdentity)
        let without = others.filter {
            ($0.keyEpoch ?? 0) < keys.epoch || $0.hasReplacedIdentity || $0.hasKeyThroughLinkOnly
        }
        let newest = keys.epochs.first { $0.epoch == keys.epoch }
        if isOwner {
            needsKeyRotation =
                keys.needsNewEpoch || newest?.isAdministrators ?? false || keys.epoch <= Int(lostEpoch)
                || replaced.contains { $0.keyEpoch == keys.epoch }
        } else {
            // The link's secret opens each epoch of an open share, and only the owner makes its wrap.
            needsKeyRotation = keys.needsNewEpoch && !sharing.isOpen
        }
        let ungranted = others.filter {
            isOwner && $0.role == .administrator && ($0.grantEpoch ?? 0) < keys.epoch && !without.contains($0)
        }
        participantsWithoutKey = (without + ungranted).filter {
            $0.identity.publicIdentity != nil && $0.identity.user != nil
        }
        slots = isOwner ? without.filter { $0.oneTimeGUID != nil }.map(\.id) : []
        isLinkMissing = isOwner && sharing.isOpen && newest?.link == nil
        let ring = newest?.blob.flatMap { try? ShareKeyring(bytes: $0, share: share) }
        isKeyringOutdated =
            isOwner && share.name == Share.zoneWideName && ring.map { !$0.holdsZoneKey(zoneKeys.epoch) } ?? false
        if !needsKeyRotation && participantsWithoutKey.isEmpty && slots.isEmpty && !isLinkMissing && !isKeyringOutdated
        {
            return nil
        }
    }
}

extension Share {
    /// A Boolean value that indicates whether the viewer is the owner or an administrator.
    var isManaged: Bool {
        guard let user = currentParticipant, user.acceptance == .accepted else { return false }
        return user.role == .owner || user.role == .administrator
    }

    /// The keys of its newest epoch, as the viewer sees them; nil if it has none.
    var newestKeys: ShareKeyEpoch? { keys.flatMap { keys in keys.epochs.first { $0.epoch == keys.epoch } } }

    /// Returns the identities of its administrators.
    ///
    /// - Parameter known: The identity of one of whom the cloud shows none, as of a user whose account is disabled; nil: there is none.
    func administrators(known: (ShareParticipant) -> Fingerprint?) -> Set<Fingerprint> {
        let hosts = participants.filter { $0.role == .administrator && $0.acceptance != .removed }
        return Set(
            hosts.compactMap { host in
                host.identity.publicIdentity.map { (try? PublicIdentity(bytes: $0))?.fingerprint } ?? known(host)
            })
    }
}

extension ShareParticipant {
    /// A Boolean value that indicates whether the newest key is sealed only to the secret of a one-time link: the
    /// device that opened the link has it, the user's other devices do not.
    var hasKeyThroughLinkOnly: Bool { keyIdentity == nil && oneTimeGUID == nil && identity.user != nil }

    /// A Boolean value that indicates whether the newest key was sealed to an identity that the participant no longer
    /// has, because their keys were reset.
    var hasReplacedIdentity: Bool {
        guard let keyIdentity, let bytes = identity.publicIdentity, let identity = try? PublicIdentity(bytes: bytes)
        else { return false }
        return identity.fingerprint.hex != keyIdentity
    }
}

/// Makes the keys of a share that its host hands in.
struct ShareKeyMaker {
    let access: ShareKeyAccess
    let key: ShareKey
    /// Returns a Boolean value that indicates whether an identity is trusted: one that was replaced gets nothing
    /// (B-TM-08).
    let isKnown: (PublicIdentity, UserID) -> Bool
    /// An administrator's right to invite.
    let authority: ShareAuthority?
    /// Former administrators, whose rights end with these invitations.
    var ended: [Fingerprint] = []
    /// The newest head of the directory of identities that this device has verified, for statements.
    var directoryHead: ShareStatement.DirectoryHead?

    private var isOwner: Bool { access.user == key.place.zone.owner }

    /// The first epoch of a share that begins.
    ///
    /// - Parameters:
    ///   - root: The root of the tree; nil for a share of a whole zone.
    ///   - zoneKeys: For a share of a whole zone: the zone's keys of all epochs so far.
    func first(isOpen: Bool, root: String?, zoneKeys: [ZoneKey]) throws(EncryptionError) -> ShareKeyChange {
        let link = isOpen ? access.root.linkSecret(of: key.place, root: root) : nil
        return ShareKeyChange(
            epoch: Int(key.epoch), begins: true, blob: try ring(earlier: [], link: link, zoneKeys: zoneKeys).bytes,
            link: try link?.wrap(key))
    }

    /// The secret of the link of the account's own share, as far as a statement confirms the share; nil: the share is closed.
    private func link(of sharing: Share) -> ShareLinkSecret? {
        guard isOwner, sharing.isOpen else { return nil }
        return access.root.linkSecret(of: key.place, root: sharing.root, opening: sharing.newestKeys?.link)
    }

    /// Returns the epoch that follows the removal of a participant, for those who remain.
    ///
    /// - Parameters:
    ///   - earlier: The known keys of the newest earlier epochs.
    ///   - zoneKeys: For a share of a whole zone: the zone's newest keys.
    /// - Throws: `noKey` where an administrator has no right to invite: the owner's next device begins the epoch.
    func next(
        _ sharing: Share, earlier: [ShareKey], zoneKeys: [ZoneKey]
    ) throws(EncryptionError) -> ShareKeyChange {
        let link = link(of: sharing)
        var change = ShareKeyChange(
            epoch: Int(key.epoch), begins: true,
            blob: try ring(earlier: earlier, link: link, zoneKeys: zoneKeys).bytes, link: try link?.wrap(key))
        let others = sharing.participants.filter { $0.role != .owner && $0.acceptance != .removed }
        let known = others.filter { $0.identity.publicIdentity != nil }
        if isOwner {
            change.wraps = wraps(known, slots: others.filter { $0.oneTimeGUID != nil }.map(\.id))
        } else {
            change.wraps = [try invitationOfOwner(sharing)] + wraps(known, slots: [])
        }
        return change
    }

    /// The key of an administrator's epoch for the owner, who is whom the administrator's right is from.
    private func invitationOfOwner(_ sharing: Share) throws(EncryptionError) -> ShareKeyChange.Wrap {
        guard let authority, let slot = sharing.owner?.id else { throw .noKey(.shareKey(share: key.place.name)) }
        return try invitation(to: slot, authority.owner, isAdministrator: false)
    }

    /// Returns the wraps that a share still needs in an epoch whose key this device has.
    ///
    /// - Parameters:
    ///   - held: The key ring of that epoch.
    ///   - zoneKeys: For a ring that lacks the newest zone key.
    func serving(
        _ maintenance: ShareKeyMaintenance, _ sharing: Share, ring held: ShareKeyring?, zoneKeys: [ZoneKey]
    ) throws(EncryptionError) -> ShareKeyChange {
        var change = ShareKeyChange(
            epoch: Int(key.epoch), begins: false,
            wraps: wraps(maintenance.participantsWithoutKey, slots: maintenance.slots))
        guard maintenance.isLinkMissing || maintenance.isKeyringOutdated else { return change }
        var ring = held ?? ShareKeyring(of: key)
        for zoneKey in zoneKeys where !ring.holdsZoneKey(zoneKey.epoch) { try ring.add(zoneKey, under: key) }
        if maintenance.isLinkMissing, let link = link(of: sharing) {
            change.link = try link.wrap(key)
            try ring.add(link, under: key)
        }
        change.blob = ring.bytes
        return change
    }

    /// Signs a statement and seals it under the key.
    ///
    /// - Parameter counter: The number of the statement before it; 0 for the first.
    /// - Throws: `malformed` where an administrator has no right to invite.
    func stating(
        _ statement: ShareStatement, after counter: UInt64
    ) throws(EncryptionError) -> ShareKeyChange.Statement {
        var statement = statement
        if let directoryHead { statement.directoryHead = directoryHead }
        let sealed = try SealedShareStatement(
            statement, counter: counter + 1, under: key, by: access.user, with: access.secret.identity(),
            authority: isOwner ? nil : authority)
        return ShareKeyChange.Statement(counter: Int(clamping: sealed.counter), bytes: sealed.bytes)
    }

    private func ring(
        earlier: [ShareKey], link: ShareLinkSecret?, zoneKeys: [ZoneKey]
    ) throws(EncryptionError) -> ShareKeyring {
        var ring = ShareKeyring(of: key)
        for earlier in earlier { try ring.add(earlier: earlier, under: key) }
        for zoneKey in zoneKeys { try ring.add(zoneKey, under: key) }
        if let link { try ring.add(link, under: key) }
        return ring
    }

    private func wraps(_ participants: [ShareParticipant], slots: [String]) -> [ShareKeyChange.Wrap] {
        // Participants who cannot be served now, because their identity is damaged or has changed, wait; the others do
        // not wait for them.
        participants.compactMap { try? invitation($0) } + slots.compactMap { try? slot($0) }
    }

    private func invitation(_ participant: ShareParticipant) throws -> ShareKeyChange.Wrap? {
        guard let user = participant.identity.user, let bytes = participant.identity.publicIdentity else { return nil }
        let identity = try PublicIdentity(bytes: bytes)
        guard isKnown(identity, user) else { return nil }
        return try invitation(
            to: participant.id, identity, isAdministrator: isOwner && participant.role == .administrator)
    }

    private func invitation(
        to participant: String, _ identity: PublicIdentity, isAdministrator: Bool
    ) throws(EncryptionError) -> ShareKeyChange.Wrap {
        let invitation = try SealedShareInvitation(
            key, to: participant, identity: identity, by: access.user, with: access.secret.identity(),
            authority: authority, administrator: isAdministrator,
            ended: isOwner ? [] : Array(ended.prefix(SealedShareInvitation.endedMax)))
        return ShareKeyChange.Wrap(
            participantID: participant, bytes: invitation.bytes, identity: identity.fingerprint.hex)
    }

    /// The key for a one-time link.
    private func slot(_ id: String) throws(EncryptionError) -> ShareKeyChange.Wrap {
        let secret = access.root.linkSecret(of: key.place, participant: id)
        return ShareKeyChange.Wrap(participantID: id, bytes: try secret.wrap(key, participant: id))
    }
}
