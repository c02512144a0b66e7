import CloudKitDevice
import CloudKitEncryption
import CloudKitModel
import Synchronization
import TextEncodings

/// The keys of a container's zones on this device, made from the account's secret when they are needed.
final class KeyRing: Sendable {
    private let account: any DeviceAccount
    private let container: String
    private let environment: String
    let epochs: EpochStore
    /// The versions of records that this device has seen.
    let versions: RecordVersions
    /// What this device knows of zones for the account's other devices, and from them.
    let zones: ZoneMemories
    /// The public identities that this device knows (B-TM-08).
    let identities: PinFile<IdentityPins>
    /// The participants of shares about whom the user of this device is asked.
    let questions: PinFile<ShareQuestions>
    /// The fragments of the links through which the account joined shares, by share.
    private let links: PinFile<[String: String]>
    private let state = Mutex(KeyRingState())

    /// - Parameter folder: The profile's; nil: nothing is written.
    init(account: any DeviceAccount, place: ContainerEndpoint?, epochs: EpochStore, folder: String? = nil) {
        versions = RecordVersions(folder: folder)
        zones = ZoneMemories(folder: folder)
        identities = PinFile(folder: folder, name: DeviceProfile.knownIdentitiesFile, empty: IdentityPins())
        questions = PinFile(folder: folder, name: DeviceProfile.shareQuestionsFile, empty: ShareQuestions())
        links = PinFile(folder: folder, name: DeviceProfile.shareLinksFile, empty: [:])
        self.account = account
        container = place?.container.name ?? ""
        environment = place?.environment.rawValue ?? ""
        self.epochs = epochs
    }

    /// The keys of a zone.
    ///
    /// - Parameter askUser: Asks the cloud who the user is, for a device that does not know.
    /// - Throws: `CallFailure.keysMissing` where the device cannot have them; what `askUser` throws.
    func keys(
        of zone: ZoneID, in scope: DatabaseScope, askUser: () async throws -> UserID
    ) async throws -> ZoneKeys {
        guard scope != .public else {
            throw CallFailure.keysMissing("The public database has no keys")
        }
        let root = try accountRoot()
        let user = try await userName(askUser)
        let place = self.place(of: zone, owner: user)
        let shared = state.withLock { $0.sharedKeys(of: place) } ?? SharedKeys(place)
        return ZoneKeys(
            ShareKeyAccess(root: root.root, secret: root.secret, user: user), place: place,
            epoch: try epochs.epoch(of: place), shared: shared)
    }

    /// Returns the salt of what the account remembers of a zone; nil where the device does not know who the user is.
    func salt(of zone: ZoneID) -> ZoneSalt? {
        guard let user = knownUserName, let root = try? accountRoot().root else { return nil }
        return root.salt(of: place(of: zone, owner: user))
    }

    /// Returns the key under which the account's devices seal their states of a zone, and the zone's highest key epoch; nil where
    /// the device does not know who the user is.
    func stateKey(of zone: ZoneID) -> (key: ZoneStateKey, epoch: UInt32)? {
        guard let user = knownUserName, let root = try? accountRoot().root else { return nil }
        let place = place(of: zone, owner: user)
        guard let epoch = try? epochs.epoch(of: place) else { return nil }
        return (root.stateKey(of: place), epoch)
    }

    /// Remembers a key epoch of one of the account's zones that another device has seen.
    func met(_ epoch: UInt32, in zone: ZoneID) throws(CallFailure) {
        guard let user = knownUserName else { return }
        try epochs.met(epoch, in: place(of: zone, owner: user))
    }

    /// Keeps the keys received through shares for the next request.
    func keep(_ keys: ZoneKeys) {
        var shared = keys.shared
        shared.trim()
        shared.forgetRefusals()
        state.withLock { $0.keep(shared, of: keys.access.secret) }
    }

    /// Forgets what came from a state of the cloud that is lost, once the user has accepted the one to which the cloud was restored.
    func follow(_ restorations: RestorationFollower.Claimed) {
        if state.withLock({ $0.note(acceptedUntil: restorations.acceptedUntil) }) { epochs.reread() }
    }

    /// Whether there are epochs of a state of the cloud that is lost.
    var hasLostEpochs: Bool { epochs.seen?.hasLostEpochs == true }

    /// Returns the highest epoch that a share had in a state of the cloud that is lost; 0: none.
    func lostEpoch(of share: RecordAddress) -> UInt32 { epochs.seen?.lostEpoch(ofShare: share) ?? 0 }

    // MARK: Shares

    /// Returns a Boolean value that indicates whether the trees of a zone were checked not long ago, in the same key
    /// epoch.
    ///
    /// Another device may share a tree, or move one; this device notices it a little later.
    func hasTreeCheck(of place: ZoneAddress, epoch: UInt32, now: Duration) -> Bool {
        state.withLock { $0.hasTreeCheck(of: place, epoch: epoch, now: now) }
    }

    func noteTreeCheck(of place: ZoneAddress, epoch: UInt32, now: Duration) {
        state.withLock { $0.noteTreeCheck(of: place, epoch: epoch, now: now) }
    }

    /// Makes the next save check the trees again, after a share of the zone was saved, or ended.
    func forgetTreeCheck(of zone: ZoneID) {
        guard let owner = zone.owner.isCaller ? knownUserName : zone.owner.recordName else { return }
        let place = place(of: zone, owner: owner)
        state.withLock { $0.forgetTreeCheck(of: place) }
    }

    /// Returns a Boolean value that indicates whether a zone is known to hold so many records that a move is not
    /// followed to the records below.
    func exceedsScanLimit(_ zone: ZoneAddress) -> Bool { state.withLock { $0.exceedsScanLimit(zone) } }

    func noteExceedsScanLimit(_ zone: ZoneAddress) { state.withLock { $0.noteExceedsScanLimit(zone) } }

    /// - Returns: false: the share's keys are being maintained already.
    func beginMaintenance(of share: RecordAddress) -> Bool { state.withLock { $0.beginMaintenance(of: share) } }

    func endMaintenance(of share: RecordAddress) { state.withLock { $0.endMaintenance(of: share) } }

    /// Returns a Boolean value that indicates whether an identity is the known one of a zone's owner.
    func isOwner(_ identity: PublicIdentity, of zone: ZoneAddress) -> Bool {
        let known = try? identities.known
        return known?.fingerprint(of: IdentityPins.name(of: zone.owner, in: zone)) == identity.fingerprint
    }

    /// Stores an epoch of a share whose key is known.
    ///
    /// - Parameter isOwn: Whether the account began it, as the share's owner.
    /// - Throws: `CallFailure.tampered` when it is lower than an earlier one: users who were removed have its key.
    func see(_ epoch: UInt32, of share: RecordAddress, isOwn: Bool) throws(CallFailure) {
        if state.withLock({ $0.isPinned(epoch, of: share) }) { return }
        do {
            try epochs.change { pins in
                if isOwn { try pins.began(epoch, ofShare: share) } else { try pins.see(epoch, ofShare: share) }
            }
        } catch {
            throw CallFailure(profile: error)
        }
        state.withLock { $0.notePinned(epoch, of: share) }
    }

    /// Returns the highest epoch of a share that this device has seen; nil: none.
    func highestEpoch(of share: RecordAddress) -> UInt32? { (try? epochs.change { $0.epoch(ofShare: share) }) ?? nil }

    /// Stores an identity that the cloud's directory shows.
    ///
    /// - Parameter user: A name that `IdentityPins.name(of:in:)` made.
    /// - Throws: `CallFailure.identityUnconfirmed` where another process has stored another one meanwhile.
    func pin(_ identity: PublicIdentity, of user: String) throws(CallFailure) {
        do {
            _ = try identities.change { try $0.check(identity, of: user) }
        } catch {
            throw CallFailure(profile: error)
        }
    }

    /// Opens an invitation of identities that are known (B-TM-08).
    ///
    /// - Throws: `CallFailure.waitingForKey` where an identity was not found in the cloud's directory; `.identityUnconfirmed` where an identity
    ///   is not the known one; `.tampered` where a signature is invalid, or the epoch is lower than an earlier one.
    func open(
        _ invitation: SealedShareInvitation, slot: String, as access: ShareKeyAccess
    ) throws(CallFailure) -> ShareKey {
        do {
            let own = try access.secret.identity()
            return try identities.change { pins in
                // The account's own identity never depends on the cloud.
                pins.replace(
                    with: own.publicIdentity, of: IdentityPins.name(of: access.user, in: invitation.share.zone))
                // An administrator's identity is signed by the owner; the owner's is not believed at first sight.
                let owner = IdentityPins.name(of: invitation.share.zone.owner, in: invitation.share.zone)
                guard pins.fingerprint(of: owner) != nil else {
                    throw CallFailure.waitingForKey(
                        "The identity of the owner of share '\(invitation.share.name)' is not in the cloud's directory yet"
                    )
                }
                return try epochs.change { epochs in
                    try invitation.open(as: slot, with: own, pins: &pins, epochs: &epochs)
                }
            }
        } catch {
            throw CallFailure(profile: error)
        }
    }

    /// Remembers, on an administrator's device, who the administrators of a share are, so that the right of one who is none any
    /// more can be ended.
    ///
    /// - Parameter epoch: The share's newest.
    /// - Returns: Whether another administrator has ended the account's own right.
    func note(
        administrators: Set<Fingerprint>, of share: RecordAddress, epoch: Int, own: PublicIdentity
    ) throws(CallFailure) -> Bool {
        let known = state.withLock { $0.isOwnRightEnded(in: share, epoch: epoch, administrators: administrators) }
        if let known { return known }
        let isEnded = try pins { pins in
            pins.note(administrators: administrators, ofShare: share)
            return pins.endedRights(ofShare: share).contains(own.fingerprint)
        }
        state.withLock {
            $0.note(administrators: administrators, of: share, epoch: epoch, isOwnRightEnded: isEnded)
        }
        return isEnded
    }

    /// Ends the rights of every identity that this device knew as an administrator of a share and that no longer is
    /// one.
    func endRights(in share: RecordAddress, except administrators: Set<Fingerprint>) throws(CallFailure) {
        try pins { $0.endRights(ofShare: share, except: administrators) }
    }

    /// Returns the identities whose rights in a share ended without a new epoch by the owner.
    func endedRights(in share: RecordAddress) throws(CallFailure) -> [Fingerprint] {
        try pins { $0.endedRights(ofShare: share) }
    }

    private func pins<Value>(_ body: (inout HighestSeenEpochs) -> Value) throws(CallFailure) -> Value {
        do {
            return try epochs.change(body)
        } catch {
            throw CallFailure(profile: error)
        }
    }

    /// Remembers the secret of a link.
    func keep(link fragment: String, of share: RecordAddress) {
        guard (try? ShareLinkSecret(fragment: fragment)) != nil else { return }
        // A profile that cannot be written leaves the link good for this time only.
        try? links.change { $0[Self.name(of: share)] = fragment }
    }

    func link(of share: RecordAddress) -> ShareLinkSecret? {
        let fragment = try? links.known[Self.name(of: share)]
        return fragment.flatMap { try? ShareLinkSecret(fragment: $0) }
    }

    private static func name(of share: RecordAddress) -> String {
        [share.zone.container, share.zone.environment, share.zone.owner, share.zone.zone, share.name]
            .map(\.percentEncoded).joined(separator: "/")
    }

    /// Compares the epochs that the cloud says its zones have with those seen before, and remembers higher ones.
    ///
    /// - Parameter before: What this device had seen when the request was sent.
    /// - Throws: `CallFailure.tampered` when one is lower.
    func see(_ zone: Zone, since before: HighestSeenEpochs?) throws(CallFailure) {
        guard let owner = zone.id.owner.isCaller ? knownUserName : zone.id.owner.recordName else { return }
        try epochs.see(zone.keyEpoch, of: place(of: zone.id, owner: owner), since: before)
    }

    private func place(of zone: ZoneID, owner: String) -> ZoneAddress {
        let name = zone.owner.isCaller ? owner : zone.owner.recordName
        return ZoneAddress(container: container, environment: environment, owner: name, zone: zone.zoneName)
    }

    private func accountRoot() throws -> KeyRingState.Root {
        let secret: AccountSecret
        do {
            secret = try account.secret()
        } catch {
            throw CallFailure(keychain: error)
        }
        return state.withLock { state in
            state.root(of: secret) { $0.root(container: container, environment: environment) }
        }
    }

    private func userName(_ askUser: () async throws -> UserID) async throws -> String {
        if let name = knownUserName { return name }
        let asked = account.state
        let name = try await askUser().recordName
        state.withLock { $0.noteUserName(name, in: asked) }
        return name
    }

    /// The user name from the profile, or from an earlier answer for the same account.
    private var knownUserName: String? {
        if let name = account.userRecordName { return name }
        let current = account.state
        return state.withLock { $0.userName(in: current) }
    }
}

extension CallFailure {
    /// Creates the failure for an account secret that is not available.
    package init(keychain error: any Error) {
        switch error {
        case let failure as CallFailure: self = failure
        case let error as DeviceProfileError:
            self = error.failure.map(Self.profileUnusable) ?? .keysMissing(error.description)
        case let error as SignInError: self = .keysMissing(error.description)
        default: self = .keysMissing("The keys of this account are not on this device")
        }
    }

    /// Converts the error of a change of the profile's files: that of the files, or of what was to be remembered.
    init(profile error: any Error) {
        switch error {
        case let failure as CallFailure: self = failure
        case let error as EncryptionError: self = CallFailure(error)
        case let failure as FileFailure: self = .profileUnusable(failure)
        case let error as DeviceProfileError:
            self = error.failure.map(Self.profileUnusable) ?? .accountUnusable(error.description)
        default: self = .accountUnusable("A file of the profile cannot be read; it is damaged")
        }
    }

    /// Something sealed is not what this device expects.
    init(_ error: EncryptionError) {
        switch error {
        case .identityReplaced: self = .identityUnconfirmed(error.description)
        default: self = .tampered(error.description)
        }
    }

    /// Something sealed does not open, or cannot be made.
    package init(_ error: EncryptionError, record: String) {
        switch error {
        case .noKey: self = .keysMissing("Record '\(record)': \(error)")
        case .identityReplaced: self = .identityUnconfirmed("Record '\(record)': \(error)")
        default: self = .tampered("Record '\(record)': \(error)")
        }
    }
}
