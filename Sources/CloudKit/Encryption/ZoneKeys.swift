import CloudKitEncryption
import CloudKitModel

/// The keys of one zone, as far as this device has them: turns a record of the zone into what seals and opens it.
///
/// All ways to a record's key begin here. In a zone of the user's own every key is derived from the account's secret.
struct ZoneKeys: Sendable {
    let place: ZonePlace
    /// The epoch under which values are sealed now, as far as this device knows.
    let epoch: UInt32
    private let root: ContainerRoot
    private let current: ZoneKey

    /// The keys of a zone that the account owns.
    init(root: ContainerRoot, place: ZonePlace, epoch: UInt32) {
        self.root = root
        self.place = place
        self.epoch = epoch
        current = root.zoneKey(owner: place.owner, zone: place.zone, epoch: epoch)
    }

    /// What opens a record that the cloud answered.
    ///
    /// - Throws: `noKey` where a record's key was made by somebody else and is not wrapped for this account.
    func cipher(opening record: Record) throws(EncryptionError) -> RecordCipher {
        guard let protection = record.protection else {
            throw .malformed(.protection, reason: "it is missing beside sealed values")
        }
        let key = try key(of: record.id.recordName, try RecordProtection(protection))
        return RecordCipher(key, recordType: record.recordType, protection: protection)
    }

    /// What seals the values of a record that is about to be saved.
    ///
    /// A record keeps its key within an epoch; in a new one it gets a new key, under which all of its values have to be
    /// sealed, and the earlier key stays within reach for children that were not written since.
    ///
    /// - Parameters:
    ///   - parent: The record's parent after the save, whose key opens this record's.
    ///   - isMoved: Whether the save gives it another parent, or takes it away.
    ///   - held: The record's protection as far as known; nil: it has none, or nobody has looked.
    func cipher(
        sealing name: String, recordType: String, parent: String?, isMoved: Bool, held: Protection?
    ) throws(EncryptionError) -> RecordCipher {
        let known = try held.map { held throws(EncryptionError) in try RecordProtection(held) }
        if let held, let known, known.epoch == epoch {
            let key = try key(of: name, known)
            if !isMoved { return RecordCipher(key, recordType: recordType, protection: held) }
            return try cipher(key, recordType, wrapping: known, parent: parent)
        }
        let key = current.recordKey(name)
        var protection = RecordProtection(of: key)
        if let known, known.epoch < epoch { try keepEarlier(name, known, in: &protection, under: key) }
        return try cipher(key, recordType, wrapping: protection, parent: parent)
    }

    private func cipher(
        _ key: RecordKey, _ recordType: String, wrapping protection: RecordProtection, parent: String?
    ) throws(EncryptionError) -> RecordCipher {
        var protection = protection
        if let parent, parent != key.place.name {
            try protection.wrap(key, under: zoneKey(key.epoch).recordKey(parent))
        } else {
            protection.removeParent()
        }
        return RecordCipher(
            key, recordType: recordType, protection: Protection(epoch: protection.epoch, keys: protection.keys))
    }

    /// Keeps the keys that the record had so far.
    private func keepEarlier(
        _ name: String, _ known: RecordProtection, in protection: inout RecordProtection, under key: RecordKey
    ) throws(EncryptionError) {
        let last = try self.key(of: name, known)
        try protection.keep(last, under: key)
        for wrap in known.wraps {
            guard case .present(let earlier) = wrap.opener else { continue }
            try protection.keep(try known.earlierKey(earlier, key: last), under: key)
        }
    }

    private func zoneKey(_ epoch: UInt32) -> ZoneKey {
        epoch == self.epoch ? current : root.zoneKey(owner: place.owner, zone: place.zone, epoch: epoch)
    }

    private func key(of name: String, _ protection: RecordProtection) throws(EncryptionError) -> RecordKey {
        if protection.origin == .derived { return try protection.key(of: name, zoneKey: zoneKey(protection.epoch)) }
        for wrap in protection.wraps {
            guard case .parent(let parent, let epoch) = wrap.opener else { continue }
            return try protection.key(of: name, parent: zoneKey(epoch).recordKey(parent))
        }
        throw .noKey(.recordKey(record: name))
    }
}

extension RecordProtection {
    init(_ protection: Protection) throws(EncryptionError) {
        try self.init(epoch: protection.epoch, keys: protection.keys)
    }
}
