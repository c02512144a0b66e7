import CloudKitEncryption
import CloudKitModel

/// The keys of one zone that this device has: turns a record of the zone into the cipher that seals and opens it.
///
/// All ways to a record's key start here. In a zone of the user's own every key is derived from the account's secret,
/// except those that participants made; in another user's zone keys come through shares.
struct ZoneKeys: Sendable {
    let place: ZoneAddress
    /// The epoch under which values are sealed now, as far as this device knows.
    let epoch: UInt32
    let access: ShareKeyAccess
    var shared: SharedKeys
    /// For records about to be saved, the share in whose tree they will be.
    var trees: [String: String] = [:]
    /// The records that the cloud names as the roots of those shares.
    var roots: [String: String] = [:]
    /// A Boolean value that indicates whether the zone has shares, so that other users may have made keys in it.
    var isShared: Bool
    /// The current key of the zone; nil in another user's zone.
    private let current: ZoneKey?

    /// - Parameters:
    ///   - shared: The keys received through shares so far.
    init(_ access: ShareKeyAccess, place: ZoneAddress, epoch: UInt32, shared: SharedKeys) {
        self.access = access
        self.place = place
        self.epoch = epoch
        self.shared = shared
        let isOwn = place.owner == access.user
        isShared = !isOwn
        current = isOwn ? access.root.zoneKey(owner: place.owner, zone: place.zone, epoch: epoch) : nil
    }

    /// A Boolean value that indicates whether the zone is the account's own, so that its keys are derived.
    var isOwn: Bool { current != nil }

    // MARK: Opening

    /// Returns the cipher that opens a record of a response.
    ///
    /// - Throws: `noKey` where no known key opens the record's key.
    mutating func cipher(opening record: Record) throws(EncryptionError) -> RecordCipher {
        guard let protection = record.protection else {
            throw .malformed(.protection, reason: "it is missing beside sealed values")
        }
        let key = try key(of: record.id.recordName, try RecordProtection(protection))
        return RecordCipher(key, recordType: record.recordType, protection: protection)
    }

    /// Takes in what records say about their keys, where that is needed.
    mutating func learn(_ records: [Record]) {
        for record in records where !(isOwn && !isShared && record.hasDerivedKey) {
            if isOwn, let protection = record.protection.flatMap({ try? RecordProtection($0) }) {
                addOwnKeys(protection)
            }
            shared.learn(record)
        }
    }

    /// Returns the names of the ancestors and shares to fetch before these records can be opened.
    mutating func missing(for records: [Record]) -> Set<String> {
        var missing: Set<String> = []
        for record in records where !(isOwn && record.hasDerivedKey) {
            do throws(EncryptionError) {
                if case .needs(let name) = try shared.key(of: record.id.recordName) { missing.insert(name) }
            } catch {
                guard case .noKey = error else { continue }
                missing.formUnion(shared.unopenedShares)
                missing.formUnion(shared.ancestors(of: record.id.recordName))
                if !isOwn { missing.insert(Share.zoneWideName) }
            }
        }
        return missing
    }

    /// Returns the failure that the app sees for an error about a record.
    func failure(_ error: EncryptionError, record: String) -> CallFailure {
        if case .doesNotOpen(.field) = error, isOwn, place.zone == ZoneID.defaultZoneName {
            // The only zone that outlives its keys (B-ZN-12).
            return .tampered(
                "Record '\(record)': \(error). If the account's keys were replaced after it was saved, its encrypted values are lost: "
                    + "request the others with desiredKeys, or delete the record and save it again")
        }
        guard case .noKey = error else { return CallFailure(error, record: record) }
        if let failure = shared.refusal ?? shared.lookUpFailure { return failure }
        guard !isOwn else { return CallFailure(error, record: record) }
        return .waitingForKey(
            "Record '\(record)' is waiting for key: a device of the share's owner has to hand it to this account")
    }

    // MARK: Sealing

    /// Returns the cipher that seals the values of a record about to be saved.
    ///
    /// A record keeps its key within an epoch. In a new epoch it gets a new key, under which all of its values have to
    /// be sealed, and the earlier key stays available for children that were not written since.
    ///
    /// - Parameters:
    ///   - parent: The record's parent after the save, whose key opens this record's.
    ///   - isMoved: A Boolean value that indicates whether the save changes or removes the parent, or shares the
    ///     record.
    ///   - held: The record's protection as far as known; nil: it has none, or it was not fetched.
    mutating func cipher(
        sealing name: String, recordType: String, parent: String?, isMoved: Bool, held: Protection?
    ) throws(EncryptionError) -> RecordCipher {
        let known = try held.map { held throws(EncryptionError) in try RecordProtection(held) }
        if let held, let known, known.epoch == epoch {
            let key = try key(of: name, known)
            if !isMoved { return RecordCipher(key, recordType: recordType, protection: held) }
            return try cipher(key, recordType, wrapping: known, parent: parent)
        }
        let key = try newKey(name)
        var protection = RecordProtection(of: key)
        if let known, known.epoch < epoch { try keepEarlier(name, known, in: &protection, under: key) }
        return try cipher(key, recordType, wrapping: protection, parent: parent)
    }

    private func newKey(_ name: String) throws(EncryptionError) -> RecordKey {
        if let zoneKey = zoneKey(epoch) { return zoneKey.recordKey(name) }
        // In a zone that is shared as a whole every participant derives, except while an administrator's key is the
        // newest; elsewhere a participant makes keys of records.
        guard shared.newest[Share.zoneWideName] == nil || shared.owners[Share.zoneWideName] != nil else {
            throw .noKey(.zoneKey(zone: place.zone))
        }
        return RecordKey(madeFor: RecordAddress(zone: place, name: name), epoch: epoch)
    }

    private mutating func cipher(
        _ key: RecordKey, _ recordType: String, wrapping protection: RecordProtection, parent: String?
    ) throws(EncryptionError) -> RecordCipher {
        var protection = protection
        let name = key.place.name
        protection.removeParent()
        if let parent, parent != name, let parentKey = try parentKey(parent, epoch: key.epoch) {
            try protection.wrap(key, under: parentKey)
        }
        let tree = trees[name] ?? (key.origin == .made ? shared.wholeShare : nil)
        for case .share(let share, _) in protection.wraps.map(\.opener) where isShared && share != tree {
            protection.removeShare(share)
        }
        if let tree { try wrap(key, underShare: tree, in: &protection) }
        // A key that no one could ever open again seals nothing.
        guard protection.origin == .derived || !protection.wraps.isEmpty else { throw .noKey(.recordKey(record: name)) }
        shared.learn(protection, of: name)
        return RecordCipher(
            key, recordType: recordType, protection: Protection(epoch: protection.epoch, keys: protection.keys))
    }

    private func wrap(
        _ key: RecordKey, underShare share: String, in protection: inout RecordProtection
    ) throws(EncryptionError) {
        if let refusal = shared.distrusted[share] { throw refusal }
        if let root = roots[share], let stated = shared.statements[share]?.opened, stated.root != root {
            throw .contradicted(.shareStatement(share: share), reason: "the cloud names another root record")
        }
        guard let shareKey = shared.newestKey(of: share) else {
            // The owner's devices begin an epoch of their own after one of an administrator's; nothing is sealed before.
            if isOwn, shared.newest[share] == nil { return }
            throw .noKey(.shareKey(share: share))
        }
        try protection.wrap(key, under: shareKey)
        if key.origin == .made, let owner = shared.owners[share] { try protection.wrap(key, for: owner) }
    }

    /// Returns the parent's key, if it is of the same epoch: users who lost access have those of earlier ones. nil: it
    /// is not known.
    private mutating func parentKey(_ parent: String, epoch: UInt32) throws(EncryptionError) -> RecordKey? {
        if isShared, let known = shared.protections[parent], known.epoch == epoch {
            if known.origin == .derived, let zoneKey = zoneKey(epoch) { return zoneKey.recordKey(parent) }
            guard case .opened(let key)? = try? shared.key(of: parent) else { return nil }
            return key
        }
        return zoneKey(epoch)?.recordKey(parent)
    }

    /// Keeps the keys that the record had so far.
    private mutating func keepEarlier(
        _ name: String, _ known: RecordProtection, in protection: inout RecordProtection, under key: RecordKey
    ) throws(EncryptionError) {
        let last = try self.key(of: name, known)
        try protection.keep(last, under: key)
        // A record that is written in epoch after epoch does not outgrow its place; the owner derives what it lets go.
        let kept = known.wraps.compactMap { wrap -> UInt32? in
            if case .present(let earlier) = wrap.opener { earlier } else { nil }
        }
        for earlier in kept.sorted(by: >).prefix(Self.keptMax) {
            try protection.keep(try known.earlierKey(earlier, key: last), under: key)
        }
        // Children written in between are wrapped under keys that were derived for the record without its being written.
        guard isOwn else { return }
        for between in Self.kept(since: known.epoch, in: epoch) {
            if let zoneKey = zoneKey(between) { try protection.keep(zoneKey.recordKey(name), under: key) }
        }
    }

    /// The epochs in which a record was not written whose keys it keeps when it is sealed in a later one.
    static func kept(since written: UInt32, in epoch: UInt32) -> Range<UInt32> {
        guard written < epoch else { return epoch..<epoch }
        return max(written + 1, epoch - min(epoch, betweenMax))..<epoch
    }

    private static let betweenMax: UInt32 = 24
    private static let keptMax = 500

    // MARK: -

    private func zoneKey(_ epoch: UInt32) -> ZoneKey? {
        guard let current else { return shared.zoneKey(epoch) }
        return epoch == self.epoch
            ? current : access.root.zoneKey(owner: place.owner, zone: place.zone, epoch: epoch)
    }

    private mutating func key(of name: String, _ protection: RecordProtection) throws(EncryptionError) -> RecordKey {
        if protection.origin == .derived, let zoneKey = zoneKey(protection.epoch) {
            return try protection.key(of: name, zoneKey: zoneKey)
        }
        if isOwn { addOwnKeys(protection) }
        shared.learn(protection, of: name)
        for _ in 0...TreeKeys.depthMax {
            switch try shared.key(of: name) {
            case .opened(let key): return key
            // A parent in the user's own zone that was not fetched has the key that every record has.
            case .needs(let parent) where isOwn: shared.learn(nil, of: parent)
            case .needs: throw .noKey(.recordKey(record: name))
            }
        }
        throw .noKey(.recordKey(record: name))
    }

    /// Derives the keys that open the wraps of a record's key, for the ancestors.
    private mutating func addOwnKeys(_ protection: RecordProtection) {
        var epochs: Set<UInt32> = [protection.epoch]
        for opener in protection.wraps.map(\.opener) {
            switch opener {
            case .parent(_, let epoch): epochs.insert(epoch)
            case .share(let name, let epoch) where !shared.hasOwn(name, epoch: epoch):
                shared.addOwn(access.root.shareKey(of: RecordAddress(zone: place, name: name), epoch: epoch))
            case .owner where !shared.hasOwner: (try? access.secret.identity()).map { shared.add($0) }
            case .share, .present, .owner: break
            }
        }
        for epoch in epochs where shared.zoneKey(epoch) == nil { zoneKey(epoch).map { shared.add($0) } }
    }
}

extension Record {
    /// A Boolean value that indicates whether the zone's key alone is enough to derive the record's key.
    var hasDerivedKey: Bool {
        guard let protection else { return true }
        return protection.keys.isEmpty || (try? RecordProtection(protection))?.origin == .derived
    }
}

extension RecordProtection {
    init(_ protection: Protection) throws(EncryptionError) {
        try self.init(epoch: protection.epoch, keys: protection.keys)
    }
}
