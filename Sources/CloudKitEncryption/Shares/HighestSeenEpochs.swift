/// The highest key epochs that this device saw, of zones and of shares; a cloud that offers a lower one has gone back in time.
///
/// A small value that a file in the profile's folder holds.
package struct HighestSeenEpochs: Hashable, Codable, Sendable {
    private struct ShareEpochs: Hashable, Codable {
        var highest: UInt32
        /// The highest that the owner began or invited in.
        var ofOwner: UInt32
        /// Former administrators, whose rights of that epoch others ended; nil if there are none.
        var ended: Set<Fingerprint>?
        /// All whom this device, one of an administrator's, has seen as administrators since; nil if there are none.
        var administrators: Set<Fingerprint>?
        /// The newest statement; nil if none was seen.
        var statement: SeenStatement?

        mutating func begin(_ epoch: UInt32) {
            if epoch > ofOwner { (ended, administrators) = (nil, nil) }
            ofOwner = epoch
        }
    }

    private struct SeenStatement: Hashable, Codable {
        var epoch: UInt32
        var counter: UInt64
        var digest: Fingerprint
    }

    /// People of a share whom this device remembers, at most.
    package static let administratorsMax = 100

    /// Epochs of a later state than the cloud's, which is lost.
    private struct LostEpochs: Hashable, Codable {
        var zones: [ZoneAddress: UInt32] = [:]
        var shares: [RecordAddress: UInt32] = [:]
    }

    private var highest: [ZoneAddress: UInt32] = [:]
    private var shares: [RecordAddress: ShareEpochs] = [:]
    /// nil: none.
    private var lost: LostEpochs?

    /// Creates a value for a device that saw nothing yet.
    package init() {}

    /// Remembers an epoch that the cloud says a zone has now.
    /// - Returns: whether it is higher than the one known, so that the pins have to be written.
    /// - Throws: `epochWentBack` if it is lower.
    @discardableResult
    package mutating func see(_ epoch: UInt32, of zone: ZoneAddress) throws(EncryptionError) -> Bool {
        let seen = highest[zone]
        if let seen, epoch < seen { throw .epochWentBack(.zoneKey(zone: zone.zone), offered: epoch, seen: seen) }
        highest[zone] = epoch
        return seen != epoch
    }

    /// Returns the highest epoch seen of a zone; nil if none was.
    package func epoch(of zone: ZoneAddress) -> UInt32? { highest[zone] }

    /// Returns the highest epoch seen of a share; nil if none was.
    package func epoch(ofShare share: RecordAddress) -> UInt32? { shares[share]?.highest }

    /// Begins again with an earlier state of the cloud, which was restored from a backup: what it shows is compared with this one from now on.
    package mutating func acceptEarlierState() {
        guard !highest.isEmpty || !shares.isEmpty else { return }
        var lost = lost ?? LostEpochs()
        lost.zones.merge(highest) { max($0, $1) }
        lost.shares.merge(shares.mapValues(\.highest)) { max($0, $1) }
        self.lost = lost
        (highest, shares) = ([:], [:])
    }

    /// Whether there are epochs of a state that is lost.
    package var hasLostEpochs: Bool { lost != nil }

    /// Returns the highest epoch that a zone had in a state that is lost; 0: none.
    package func lostEpoch(of zone: ZoneAddress) -> UInt32 { lost?.zones[zone] ?? 0 }

    /// Returns the highest epoch that a share, or its zone, had in a state that is lost; 0: none. Users whom the present share does not have may hold
    /// keys of it and of those before.
    package func lostEpoch(ofShare share: RecordAddress) -> UInt32 {
        max(lost?.shares[share] ?? 0, lostEpoch(of: share.zone))
    }

    /// For a zone that was deleted: a new one of the same name begins at 0.
    package mutating func forget(_ zone: ZoneAddress) {
        highest[zone] = nil
        shares = shares.filter { $0.key.zone != zone }
    }

    /// For a share that ended.
    package mutating func forget(share: RecordAddress) { shares[share] = nil }

    /// Remembers an epoch that the account, the share's owner, began: administrators' rights of earlier ones are void.
    /// - Throws: `epochWentBack` if it is lower than one seen.
    package mutating func began(_ epoch: UInt32, ofShare share: RecordAddress) throws(EncryptionError) {
        try see(epoch, ofShare: share)
        shares[share]?.begin(epoch)
    }

    /// Remembers an epoch of a share whose key is known.
    ///
    /// - Throws: `epochWentBack` if it is lower than one seen.
    package mutating func see(_ epoch: UInt32, ofShare share: RecordAddress) throws(EncryptionError) {
        var seen = shares[share] ?? ShareEpochs(highest: 0, ofOwner: 0)
        guard epoch >= seen.highest else {
            throw .epochWentBack(.shareKey(share: share.name), offered: epoch, seen: seen.highest)
        }
        seen.highest = epoch
        shares[share] = seen
    }

    /// Remembers an invitation whose signatures were verified.
    /// - Throws: `epochWentBack` for a lower epoch than one seen, and for an administrator whose right is older than the
    ///   owner's
    ///   latest epoch; `rightEnded` for one whose right another administrator ended.
    mutating func see(_ invitation: SealedShareInvitation) throws(EncryptionError) {
        let item = EncryptionError.Item.invitation(share: invitation.share.name)
        var seen = shares[invitation.share] ?? ShareEpochs(highest: 0, ofOwner: 0)
        guard invitation.epoch >= seen.highest else {
            throw .epochWentBack(item, offered: invitation.epoch, seen: seen.highest)
        }
        let ofOwner = invitation.authority?.grant.epoch ?? invitation.epoch
        guard ofOwner >= seen.ofOwner else { throw .epochWentBack(item, offered: ofOwner, seen: seen.ofOwner) }
        seen.highest = invitation.epoch
        seen.begin(ofOwner)
        if invitation.authority != nil {
            let ended = seen.ended ?? []
            guard !ended.contains(invitation.inviterIdentity.fingerprint) else { throw .rightEnded(item) }
            let all = ended.union(invitation.ended)
            guard all.count <= Self.administratorsMax else { throw .tooMany(item, limit: Self.administratorsMax) }
            if !all.isEmpty { seen.ended = all }
        }
        shares[invitation.share] = seen
    }

    /// Returns a Boolean value that indicates whether this device has seen a statement of a share.
    package func hasStatement(ofShare share: RecordAddress) -> Bool { shares[share]?.statement != nil }

    /// Remembers a statement whose signature was verified.
    ///
    /// Statements are ordered by epoch, then by number.
    /// - Parameter digest: The digest of everything that was sealed, so that two statements of one number are distinguished.
    /// - Throws: `epochWentBack`, `counterWentBack`; `contradicted` for another statement of a number that was seen;
    ///   `rightEnded` for an administrator whose right another administrator ended.
    mutating func see(
        _ statement: SealedShareStatement, digest: Fingerprint, signer: PublicIdentity, authority: ShareAuthority?
    ) throws(EncryptionError) {
        let item = EncryptionError.Item.shareStatement(share: statement.share.name)
        var seen = shares[statement.share] ?? ShareEpochs(highest: 0, ofOwner: 0)
        guard statement.epoch >= seen.highest else {
            throw .epochWentBack(item, offered: statement.epoch, seen: seen.highest)
        }
        if let held = seen.statement, statement.epoch <= held.epoch {
            guard statement.epoch == held.epoch else {
                throw .epochWentBack(item, offered: statement.epoch, seen: held.epoch)
            }
            guard statement.counter >= held.counter else {
                throw .counterWentBack(item, offered: statement.counter, seen: held.counter)
            }
            guard statement.counter > held.counter || digest == held.digest else {
                throw .contradicted(item, reason: "the cloud shows two statements of one number")
            }
        }
        if let authority {
            guard authority.grant.epoch >= seen.ofOwner else {
                throw .epochWentBack(item, offered: authority.grant.epoch, seen: seen.ofOwner)
            }
            guard !(seen.ended ?? []).contains(signer.fingerprint) else { throw .rightEnded(item) }
        }
        seen.statement = SeenStatement(epoch: statement.epoch, counter: statement.counter, digest: digest)
        shares[statement.share] = seen
    }

    // MARK: Rights that end

    /// Returns the fingerprints whose rights have ended since the owner's latest epoch; in a fixed order.
    package func endedRights(ofShare share: RecordAddress) -> [Fingerprint] {
        (shares[share]?.ended ?? []).sorted { $0.hex < $1.hex }
    }

    /// Remembers, on an administrator's device, who the administrators of a share are.
    package mutating func note(administrators: Set<Fingerprint>, ofShare share: RecordAddress) {
        var seen = shares[share] ?? ShareEpochs(highest: 0, ofOwner: 0)
        let all = (seen.administrators ?? []).union(administrators)
        seen.administrators = all.count <= Self.administratorsMax ? all : administrators
        shares[share] = seen
    }

    /// Ends the rights of all whom this device knew as administrators and who are none now.
    ///
    /// - Parameter administrators: The present administrators.
    package mutating func endRights(ofShare share: RecordAddress, except administrators: Set<Fingerprint>) {
        guard var seen = shares[share], let known = seen.administrators else { return }
        let former = known.subtracting(administrators)
        if former.isEmpty { return }
        seen.ended = Set((seen.ended ?? []).union(former).sorted { $0.hex < $1.hex }.prefix(Self.administratorsMax))
        seen.administrators = known.intersection(administrators)
        shares[share] = seen
    }
}
