import CloudKitDevice
import CloudKitEncryption

/// The state that a key ring keeps in memory, behind one lock.
///
/// Invariants:
/// 1. Keys that came through shares belong to the account of `root`: another account's root removes them, and
///    keys of an account that is not the present one are not added.
/// 2. A check of a zone's trees counts for 30 seconds, in the key epoch in which it was made. While it counts, a later
///    check does not replace it, so that a device that writes all the time checks again, too.
/// 3. The keys of a share are maintained by one task at a time.
/// 4. A share's epoch and its administrators are remembered here only after they are in the profile's file: this state
///    saves a second write of the file and never replaces the file.
/// 5. The user's name counts only in the state of the account in which the cloud was asked for it.
struct KeyRingState {
    /// The root of the keys of one container, and the secret that it was derived from.
    struct Root {
        var secret: AccountSecret
        var root: ContainerRoot
    }

    private struct TreeCheck {
        var epoch: UInt32
        var time: Duration
    }

    private struct KnownAdministrators {
        var epoch: Int
        var identities: Set<Fingerprint>
        var isOwnRightEnded: Bool
    }

    private var root: Root?
    private var shared: [ZoneAddress: SharedKeys] = [:]
    private var treeChecks: [ZoneAddress: TreeCheck] = [:]
    private var maintained: Set<RecordAddress> = []
    private var pinnedEpochs: [RecordAddress: UInt32] = [:]
    private var zonesOverScanLimit: Set<ZoneAddress> = []
    private var administrators: [RecordAddress: KnownAdministrators] = [:]
    private var user: (account: AccountState, name: String)?
    /// Until when the user has accepted the states of a restored cloud; nil: nobody has asked.
    private var acceptedUntil: UInt64?

    // MARK: Restorations

    /// Notes until when the user has accepted the states of a restored cloud, and forgets what came from later ones.
    ///
    /// - Returns: Whether it was accepted since it was noted last.
    mutating func note(acceptedUntil: UInt64) -> Bool {
        let isNew = self.acceptedUntil.map { $0 < acceptedUntil } ?? false
        self.acceptedUntil = acceptedUntil
        guard isNew else { return false }
        shared = [:]
        treeChecks = [:]
        pinnedEpochs = [:]
        administrators = [:]
        return true
    }

    // MARK: The account

    /// Returns the root of an account's keys, which is derived once for each account that signs in.
    mutating func root(of secret: AccountSecret, derive: (AccountSecret) -> ContainerRoot) -> Root {
        if let root, root.secret == secret { return root }
        let derived = Root(secret: secret, root: derive(secret))
        root = derived
        shared = [:]
        return derived
    }

    /// Returns the name that the user had when the cloud was asked in this state of the account; nil: it was not.
    func userName(in account: AccountState) -> String? { user?.account == account ? user?.name : nil }

    mutating func noteUserName(_ name: String, in account: AccountState) { user = (account, name) }

    // MARK: Keys through shares

    func sharedKeys(of zone: ZoneAddress) -> SharedKeys? { shared[zone] }

    mutating func keep(_ keys: SharedKeys, of secret: AccountSecret) {
        guard root?.secret == secret else { return }
        shared[keys.place] = keys
    }

    // MARK: Checks of trees

    private static let treeCheckLifetime = Duration.seconds(30)

    func hasTreeCheck(of zone: ZoneAddress, epoch: UInt32, now: Duration) -> Bool {
        treeChecks[zone].map { $0.epoch == epoch && now - $0.time < Self.treeCheckLifetime } ?? false
    }

    mutating func noteTreeCheck(of zone: ZoneAddress, epoch: UInt32, now: Duration) {
        guard !hasTreeCheck(of: zone, epoch: epoch, now: now) else { return }
        treeChecks[zone] = TreeCheck(epoch: epoch, time: now)
    }

    mutating func forgetTreeCheck(of zone: ZoneAddress) { treeChecks[zone] = nil }

    func exceedsScanLimit(_ zone: ZoneAddress) -> Bool { zonesOverScanLimit.contains(zone) }

    mutating func noteExceedsScanLimit(_ zone: ZoneAddress) { zonesOverScanLimit.insert(zone) }

    // MARK: Shares

    /// - Returns: false: another task maintains the share.
    mutating func beginMaintenance(of share: RecordAddress) -> Bool { maintained.insert(share).inserted }

    mutating func endMaintenance(of share: RecordAddress) { maintained.remove(share) }

    func isPinned(_ epoch: UInt32, of share: RecordAddress) -> Bool { pinnedEpochs[share] == epoch }

    mutating func notePinned(_ epoch: UInt32, of share: RecordAddress) { pinnedEpochs[share] = epoch }

    /// Returns whether the account's own right had ended when these administrators were noted in this epoch; nil: they were not.
    func isOwnRightEnded(in share: RecordAddress, epoch: Int, administrators identities: Set<Fingerprint>) -> Bool? {
        guard let noted = administrators[share], noted.epoch == epoch, noted.identities == identities else {
            return nil
        }
        return noted.isOwnRightEnded
    }

    mutating func note(
        administrators identities: Set<Fingerprint>, of share: RecordAddress, epoch: Int, isOwnRightEnded: Bool
    ) {
        administrators[share] = KnownAdministrators(
            epoch: epoch, identities: identities, isOwnRightEnded: isOwnRightEnded)
    }
}
