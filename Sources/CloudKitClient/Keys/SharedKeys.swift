import CloudKitEncryption
import CloudKitModel

/// The account that opens and hands out keys of shares, in one container.
struct ShareKeyAccess: Sendable {
    let root: ContainerRoot
    let secret: AccountSecret
    /// The account's own record name in the container.
    let user: String
}

/// The keys of one zone that come through shares, and what records say about theirs; pure.
struct SharedKeys: Sendable {
    /// The position of a record in its tree.
    struct Standing: Hashable, Sendable {
        var parent: String?
        /// The share of which the record is the root.
        var share: String?
    }

    let place: ZoneAddress
    private var tree: TreeKeys
    private var shareKeys: [String: [UInt32: ShareKey]] = [:]
    private var zoneKeys: [UInt32: ZoneKey] = [:]
    private(set) var links: [String: ShareLinkSecret] = [:]
    /// The rights by which the account invites others to shares of other users.
    private(set) var authorities: [String: ShareAuthority] = [:]
    /// Owners of the zone, by shares whose newest key comes from an administrator: keys that participants make under it
    /// are wrapped for the owners as well.
    private(set) var owners: [String: PublicIdentity] = [:]
    /// The epochs of shares whose keys the owner has derived, for values sealed under them.
    private var derived: [String: Set<UInt32>] = [:]
    /// The newest key epoch of each share, as the cloud says.
    private(set) var newest: [String: UInt32] = [:]
    /// The highest epoch that the cloud ever said a share had, also one that has ended: a later share of its name begins above.
    private var highest: [String: UInt32] = [:]
    private(set) var protections: [String: RecordProtection] = [:]
    private(set) var standings: [String: Standing] = [:]
    /// The verified statements of shares, each of the share's newest epoch.
    private(set) var statements: [String: HeldStatement] = [:]
    /// The reasons why statements of shares were refused: nothing is sealed for such a share.
    private(set) var distrusted: [String: EncryptionError] = [:]
    /// Shares whose first epoch that can be opened has been looked up for an answer.
    private var searched: Set<String> = []
    /// The reasons why keys that the last answer offers were refused, by share.
    private var refusals: [String: CallFailure] = [:]
    /// The reasons why this device could not read what an answer says of shares, or not look again where another one may have overtaken it.
    private var unconfirmed: [String: CallFailure] = [:]

    /// The reason why records and shares that hold keys could not be looked up; nil: they could, as far as was needed.
    var lookUpFailure: CallFailure?

    /// A statement that was verified, as the cloud carries it and opened.
    struct HeldStatement: Hashable, Sendable {
        var sealed: SealedShareStatement
        var opened: ShareStatement
    }

    init(_ place: ZoneAddress) {
        self.place = place
        tree = TreeKeys(zone: place)
    }

    // MARK: What is at hand

    mutating func add(_ key: ShareKey) {
        shareKeys[key.place.name, default: [:]][key.epoch] = key
        newest[key.place.name] = max(newest[key.place.name] ?? 0, key.epoch)
        tree.add(key)
    }

    /// The key of an epoch that this device begins as an administrator.
    mutating func add(_ key: ShareKey, madeFor owner: PublicIdentity) {
        add(key)
        owners[key.place.name] = owner
    }

    /// Adds a key that the owner derives for values sealed under it, whether or not the share exists, and independently
    /// of the participant who began the epoch.
    mutating func addOwn(_ key: ShareKey) {
        derived[key.place.name, default: []].insert(key.epoch)
        tree.add(key)
    }

    /// Another administrator has ended the right to invite others.
    mutating func forgetAuthority(of share: String) { authorities[share] = nil }

    func hasOwn(_ share: String, epoch: UInt32) -> Bool {
        derived[share]?.contains(epoch) ?? false || shareKeys[share]?[epoch] != nil
    }

    /// Opens what members wrapped for the account, which owns the zone.
    mutating func add(_ owner: AccountIdentity) { tree.add(owner) }

    var hasOwner: Bool { tree.hasOwner }

    mutating func add(_ key: ZoneKey) {
        zoneKeys[key.epoch] = key
        tree.add(key)
    }

    mutating func add(_ link: ShareLinkSecret, of share: String) { links[share] = link }

    func zoneKey(_ epoch: UInt32) -> ZoneKey? { zoneKeys[epoch] }

    func key(of share: String, epoch: UInt32) -> ShareKey? { shareKeys[share]?[epoch] }

    /// Returns the key under which keys are wrapped for the participants of a share now; nil: it has not arrived.
    func newestKey(of share: String) -> ShareKey? { newest[share].flatMap { shareKeys[share]?[$0] } }

    /// Returns the known key of the highest epoch below another: for the owner, of the newest one that they began. One that the owner
    /// meant to begin, and that the cloud refused, is not below.
    func latestKey(of share: String, below epoch: UInt32) -> ShareKey? {
        shareKeys[share]?.filter { $0.key < epoch }.max { $0.key < $1.key }?.value
    }

    /// The share of the whole zone, if there is one with keys.
    var wholeShare: String? { newest[Share.zoneWideName] == nil ? nil : Share.zoneWideName }

    /// Returns whether keys are still to come with which records may open.
    ///
    /// The zone has shares whose newest key the account does not have yet. Or it is shared as a whole, and a device of the owner has yet to begin an
    /// epoch with the keys of the zone after one of an administrator's, with whose key nobody gets them, or to add the zone's newest to the share.
    ///
    /// - Parameter epochs: Those in which the records were sealed.
    func isWaiting(for epochs: Set<UInt32>) -> Bool {
        if newest.contains(where: { share, epoch in shareKeys[share]?[epoch] == nil }) { return true }
        guard let wholeShare else { return false }
        return owners[wholeShare] != nil || epochs.contains { $0 > zoneKeys.keys.max() ?? 0 }
    }

    /// A number that changes with each new key of a share.
    var keyState: Int { newest.values.reduce(0) { $0 + Int($1) } }

    /// The failure of a share whose keys are those of a user with other keys than this device knows; nil: there is none.
    var unconfirmedIdentity: CallFailure? {
        refusals.sorted { $0.key < $1.key }.lazy.map(\.value).first {
            if case .identityUnconfirmed = $0 { true } else { false }
        }
    }

    /// Stores the current epoch of a share as the cloud reports it.
    ///
    /// - Throws: `tampered` for one below an earlier one: values sealed under its key are open to users who were
    ///   removed.
    mutating func see(_ epoch: Int, of share: String) throws(CallFailure) {
        guard epoch > 0 else { return }
        let epoch = UInt32(clamping: epoch)
        if let seen = highest[share], epoch < seen {
            throw .tampered(
                EncryptionError.epochWentBack(.shareKey(share: share), offered: epoch, seen: seen).description)
        }
        highest[share] = epoch
        newest[share] = epoch
    }

    /// Whether an earlier statement or epoch of a share came than one that was seen: another answer may have overtaken this one.
    func isOvertaken(_ share: String) -> Bool {
        switch distrusted[share] {
        case .counterWentBack, .epochWentBack: true
        default: false
        }
    }

    /// Returns the version of a share that its verified statement gives it; nil for other records, and where the statement that the record
    /// carries was not verified.
    func statedVersion(ofShare record: Record) -> StatedVersion? {
        guard let bytes = record.sharing?.newestKeys?.statement, let held = statements[record.id.recordName],
            held.sealed.bytes == bytes
        else { return nil }
        return StatedVersion(held.sealed)
    }

    /// The reason why keys that the last answer offers were refused; nil: none were.
    var refusal: CallFailure? { refusals.min { $0.key < $1.key }?.value }

    /// Returns why a share is not to be used; nil: it is.
    func refusal(ofShare share: String) -> CallFailure? {
        unconfirmed[share] ?? distrusted[share].map { CallFailure($0, record: share) }
    }

    /// Returns why this device could not read what the last answer says of a share; nil: it could.
    func unreadable(_ share: String) -> CallFailure? { unconfirmed[share] }

    /// Forgets what was refused of the last answer.
    mutating func forgetRefusals() {
        refusals = [:]
        unconfirmed = [:]
        lookUpFailure = nil
        searched = []
    }

    /// Notes whether the keys of a share that has come were refused.
    mutating func noteRefusal(_ failure: CallFailure?, ofShare share: String) {
        refusals[share] = failure
        unconfirmed[share] = nil
    }

    /// Leaves shares as they were before an answer that this device could not read, or that another one may have overtaken, where they could
    /// not be looked at again. Nothing is changed of them until then.
    mutating func leave(_ shares: [String], as before: SharedKeys, because failure: CallFailure) {
        for share in shares {
            statements[share] = before.statements[share]
            distrusted[share] = before.distrusted[share]
            refusals[share] = failure
            unconfirmed[share] = failure
        }
    }

    /// Distrusts a share that came with keys of an earlier epoch than one that was seen.
    ///
    /// - Parameter pinned: The highest epoch whose key this device has seen.
    mutating func noteRollback(of record: Record, pinned: UInt32?) {
        guard let epoch = record.sharing?.keys?.epoch else { return }
        let name = record.id.recordName
        let offered = UInt32(clamping: epoch)
        let seen = max(pinned ?? 0, highest[name] ?? 0)
        if offered < seen {
            distrusted[name] = .epochWentBack(.shareKey(share: name), offered: offered, seen: seen)
        }
    }

    /// Takes in a share's verified statement, if there is one, and the reason why the share is not to be trusted.
    mutating func learn(_ statement: HeldStatement?, refusal: EncryptionError? = nil, ofShare share: String) {
        statements[share] = statement
        distrusted[share] = refusal
    }

    // MARK: Records

    mutating func learn(_ record: Record) {
        let name = record.id.recordName
        standings[name] = Standing(parent: record.parent, share: record.share)
        learn(record.protection.flatMap { try? RecordProtection($0) }, of: name)
    }

    mutating func learn(_ protection: RecordProtection?, of name: String) {
        // A known protection is not written again: two halves of a page use it at the same time while they are opened.
        if let protection, protections[name] == protection { return }
        protections[name] = protection
        tree.learn(protection, of: name)
    }

    /// Records that a record does not exist, or that the account cannot see it.
    mutating func learnAbsence(of name: String) {
        standings[name] = Standing()
        // Nothing is sealed for a share that has ended.
        newest[name] = nil
        learn(nil, of: name)
    }

    /// Discards the positions of records in trees, which may have changed.
    mutating func forgetStandings() { standings = [:] }

    mutating func key(of record: String) throws(EncryptionError) -> TreeKeys.Outcome { try tree.key(of: record) }

    /// Returns the known ancestors of a record, perhaps as they were before they were shared or sealed again.
    func ancestors(of record: String) -> Set<String> {
        var ancestors: Set<String> = []
        var name = record
        while let parent = protections[name]?.parentName, ancestors.insert(parent).inserted { name = parent }
        return ancestors
    }

    /// The shares that protections name and whose key is missing.
    var unopenedShares: Set<String> {
        var names: Set<String> = []
        for protection in protections.values {
            for case .share(let share, let epoch) in protection.wraps.map(\.opener)
            where !hasOwn(share, epoch: epoch) { names.insert(share) }
        }
        return names
    }

    /// Discards records when there are many, ancestors of other records last: they can be fetched again.
    mutating func trim() {
        guard protections.count + standings.count > Self.recordsMax else { return }
        var openers = Set(protections.values.compactMap(\.parentName))
        if openers.count > Self.openersMax { openers = [] }
        protections = protections.filter { openers.contains($0.key) }
        standings = standings.filter { openers.contains($0.key) }
        tree.keep(only: openers)
    }

    private static let recordsMax = 2000
    private static let openersMax = 500
}

extension RecordProtection {
    /// The record under whose key this one's is wrapped.
    fileprivate var parentName: String? {
        for case .parent(let name, _) in wraps.map(\.opener) { return name }
        return nil
    }
}

// MARK: - Opening

extension SharedKeys {
    /// Opens the keys of a share that the cloud keeps for the account: the newest epoch by an invitation or a link,
    /// earlier ones through the key rings. The owner derives them.
    ///
    /// - Parameters:
    ///   - trust: Opens an invitation after its signatures were compared with the identities that this device knows.
    ///   - link: The secret of the link through which the account joined, if this device knows it.
    ///   - isOwner: Returns whether an identity is the known one of the zone's owner.
    package mutating func open(
        _ record: Record, as access: ShareKeyAccess, link: ShareLinkSecret?, isOwner: (PublicIdentity) -> Bool,
        trust: (SealedShareInvitation, String) throws(CallFailure) -> ShareKey
    ) throws(CallFailure) {
        guard let sharing = record.sharing else { return }
        let share = RecordAddress(zone: place, name: record.id.recordName)
        guard let keys = sharing.keys else {
            // Its owner lost the keys that it had: nothing is sealed under those any more. The owner may be beginning others.
            if place.owner != access.user { newest[share.name] = nil }
            return
        }
        try see(keys.epoch, of: share.name)
        if share.zone.owner == access.user { forgetUnbegun(share.name, keys) }
        let isOutdated = Self.isOutdated(sharing.currentParticipant, access)
        for epoch in keys.epochs {
            // Below a known key only its ring leads: an older invitation is of no use any more.
            if shareKeys[share.name]?.keys.contains(where: { $0 >= epoch.epoch }) != true {
                let slot = isOutdated ? nil : sharing.currentParticipantID
                guard let key = try Self.openedKey(epoch, of: share, slot: slot, as: access, link: link, trust) else {
                    continue
                }
                add(key)
                if key.epoch == newest[share.name] { noteOwner(of: key, epoch.wrap) }
            }
            guard let key = key(of: share.name, epoch: UInt32(clamping: epoch.epoch)), let blob = epoch.blob else {
                continue
            }
            do throws(EncryptionError) {
                try addRing(try ShareKeyring(bytes: blob, share: share), key)
            } catch {
                throw CallFailure(error)
            }
        }
        noteAuthority(from: keys.epochs, of: share, for: access, isOwner: isOwner)
    }

    /// Returns the shares of which records need earlier epochs than those whose keys are known: answers carry the newest few of a share.
    ///
    /// - Returns: By share the lowest epoch whose key is known.
    mutating func earlierEpochs(neededFor records: [String]) -> [String: UInt32] {
        var needed: [String: UInt32] = [:]
        // Of nearly every share the first epoch is known.
        guard shareKeys.keys.contains(where: { lowestKey(of: $0) != nil }) else { return needed }
        for record in records {
            if case .opened? = try? key(of: record) { continue }
            for name in ancestors(of: record).union([record]) {
                guard let protection = protections[name] else { continue }
                for case .share(let share, let epoch) in protection.wraps.map(\.opener) {
                    if let lowest = lowestKey(of: share), epoch < lowest { needed[share] = lowest }
                }
                if let wholeShare, zoneKeys[protection.epoch] == nil { needed[wholeShare] = lowestKey(of: wholeShare) }
            }
        }
        return needed
    }

    /// The lowest epoch of a share whose key is known, if there may be earlier ones; nil: there are none.
    private func lowestKey(of share: String) -> UInt32? {
        searched.contains(share) ? nil : shareKeys[share]?.keys.min().flatMap { $0 > 1 ? $0 : nil }
    }

    /// Adds the keys of earlier epochs of a share, each of which the key ring of a later one holds.
    ///
    /// - Parameter epochs: Newest first, from the lowest one whose key is known.
    mutating func addEarlier(_ epochs: [ShareKeyEpoch], of share: String) throws(CallFailure) {
        let place = RecordAddress(zone: self.place, name: share)
        let lowest = shareKeys[share]?.keys.min()
        for epoch in epochs {
            guard let key = key(of: share, epoch: UInt32(clamping: epoch.epoch)), let blob = epoch.blob else {
                continue
            }
            do throws(EncryptionError) {
                try addRing(try ShareKeyring(bytes: blob, share: place), key)
            } catch {
                throw CallFailure(error)
            }
        }
        if shareKeys[share]?.keys.min() == lowest { searched.insert(share) }
    }

    /// Forgets keys of epochs that the owner meant to begin, where the cloud refused that, or an administrator was faster.
    private mutating func forgetUnbegun(_ share: String, _ keys: ShareKeys) {
        let isAdministrators = keys.epochs.contains { $0.epoch == keys.epoch && $0.isAdministrators }
        let newest = UInt32(clamping: keys.epoch)
        shareKeys[share] = shareKeys[share]?.filter { $0.key < newest || ($0.key == newest && !isAdministrators) }
    }

    private mutating func addRing(_ ring: ShareKeyring, _ key: ShareKey) throws(EncryptionError) {
        guard ring.epoch == key.epoch else { return }
        for earlier in try ring.earlierKeys(key) { add(earlier) }
        for zoneKey in try ring.zoneKeys(key) { add(zoneKey) }
        if let link = try ring.linkSecret(key) { add(link, of: key.place.name) }
    }

    /// Records for whom keys made under a share's newest key have to be wrapped as well, since that key may not be the
    /// owner's.
    ///
    /// - Parameter wrap: The wrap from which the key was opened.
    private mutating func noteOwner(of key: ShareKey, _ wrap: [UInt8]?) {
        let invitation = wrap.flatMap { try? SealedShareInvitation(bytes: $0, share: key.place) }
        owners[key.place.name] = invitation?.authority?.owner
    }

    /// The right to invite that the owner's newest invitation gives the account, or does not.
    private mutating func noteAuthority(
        from epochs: [ShareKeyEpoch], of share: RecordAddress, for access: ShareKeyAccess,
        isOwner: (PublicIdentity) -> Bool
    ) {
        guard share.zone.owner != access.user, let identity = try? access.secret.identity() else { return }
        for epoch in epochs {
            guard let wrap = epoch.wrap, !ShareLinkSecret.isLinkWrap(wrap),
                let invitation = try? SealedShareInvitation(bytes: wrap, share: share),
                invitation.authority == nil, isOwner(invitation.inviterIdentity)
            else { continue }
            authorities[share.name] = invitation.authority(for: identity.publicIdentity)
            return
        }
    }

    /// Returns a Boolean value that indicates whether the account had another identity when the key was sealed to it:
    /// it waits for one that it can open.
    private static func isOutdated(_ participant: ShareParticipant?, _ access: ShareKeyAccess) -> Bool {
        guard let known = participant?.keyIdentity, let own = try? access.secret.identity() else { return false }
        return own.publicIdentity.fingerprint.hex != known
    }

    private static func openedKey(
        _ epoch: ShareKeyEpoch, of share: RecordAddress, slot: String?, as access: ShareKeyAccess,
        link: ShareLinkSecret?,
        _ trust: (SealedShareInvitation, String) throws(CallFailure) -> ShareKey
    ) throws(CallFailure) -> ShareKey? {
        if share.zone.owner == access.user {
            return epoch.isAdministrators
                ? nil : access.root.shareKey(of: share, epoch: UInt32(clamping: epoch.epoch))
        }
        if let wrap = epoch.wrap, let slot {
            if ShareLinkSecret.isLinkWrap(wrap) {
                if let key = try? link?.open(wrap, share: share, participant: slot) { return key }
            } else {
                let invitation: SealedShareInvitation
                do throws(EncryptionError) {
                    invitation = try SealedShareInvitation(bytes: wrap, share: share)
                } catch {
                    throw CallFailure(error)
                }
                return try trust(invitation, slot)
            }
        }
        guard let wrapped = epoch.link else { return nil }
        return try? link?.open(wrapped, share: share)
    }
}

extension ShareKeyEpoch {
    /// As its owner sees it: whether an administrator began the epoch, who then wraps its key for the owner.
    var isAdministrators: Bool { wrap != nil }
}
