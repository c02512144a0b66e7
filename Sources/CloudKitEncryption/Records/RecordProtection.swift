/// The protection of a record's key, stored with its fields: the epoch, the source of the key, and its wraps for
/// others.
///
/// Travels as `{"epoch": …, "keys": base64}`. For a record without parent and share, in a zone that the user owns,
/// `keys` is empty.
package struct RecordProtection: Hashable, Sendable {
    /// The epoch of the record's key.
    package let epoch: UInt32
    /// The source of the record's key.
    package let origin: RecordKey.Origin
    /// The record's key, wrapped under other keys.
    package private(set) var wraps: [KeyWrap]

    /// More than one wrap for every epoch in which the record was written is never needed; the cloud stores 64 KiB.
    package static let wrapsMax = 900
    /// Of a record's or share's name, in bytes of UTF-8.
    static let nameBytesMax = 1024

    /// Of a record that is about to be sealed with this key; wraps are to be added.
    package init(of key: RecordKey) {
        epoch = key.epoch
        origin = key.origin
        wraps = []
    }

    /// As it comes from the cloud.
    package init(epoch: UInt32, keys: [UInt8]) throws(EncryptionError) {
        self.epoch = epoch
        guard !keys.isEmpty else {
            origin = .derived
            wraps = []
            return
        }
        var reader = ByteReader(keys, of: .protection)
        try reader.takeVersion()
        guard let origin = RecordKey.Origin(rawValue: try reader.takeNumber()) else {
            throw .malformed(.protection, reason: "a key of unknown origin")
        }
        self.origin = origin
        let count = try reader.takeNumber(UInt16.self)
        guard count <= Self.wrapsMax else { throw .tooMany(.protection, limit: Self.wrapsMax) }
        wraps = []
        for _ in 0..<count { wraps.append(try KeyWrap(from: &reader)) }
        try reader.finish()
        guard Set(wraps.map(\.opener)).count == wraps.count else {
            throw .malformed(.protection, reason: "two wraps for one key")
        }
    }

    /// The versioned blob; empty if there is nothing to say but the epoch.
    package var keys: [UInt8] {
        guard origin == .made || !wraps.isEmpty else { return [] }
        var bytes: [UInt8] = [1, origin.rawValue]
        bytes.appendBigEndian(UInt16(wraps.count))
        for wrap in wraps { wrap.write(to: &bytes) }
        return bytes
    }
}

// MARK: - Wrapping

extension RecordProtection {
    /// Wraps the record's key for all who can read the parent; replaces the wrap for the parent it had before.
    ///
    /// In a tree that is shared, the parent's key must not be of an earlier epoch than the record's: a removed participant
    /// has that.
    package mutating func wrap(
        _ key: RecordKey, under parent: RecordKey, random: Randomness = .system
    ) throws(EncryptionError) {
        guard parent.place.zone == key.place.zone, parent.place.name != key.place.name else {
            throw .malformed(.protection, reason: "a parent is another record of the same zone")
        }
        let opener = KeyWrap.Opener.parent(record: parent.place.name, epoch: parent.epoch)
        let wrap = try wrapped(key, opener: opener, under: parent.material, random: random)
        removeParent()
        try add(wrap)
    }

    /// Lets the members of a share read this record.
    package mutating func wrap(
        _ key: RecordKey, under share: ShareKey, random: Randomness = .system
    ) throws(EncryptionError) {
        guard share.place.zone == key.place.zone else {
            throw .malformed(.protection, reason: "a share lies in the zone of what it shares")
        }
        let opener = KeyWrap.Opener.share(record: share.place.name, epoch: share.epoch)
        try add(wrapped(key, opener: opener, under: share.material, random: random))
    }

    /// Lets the zone's owner read this record, independently of the keys of shares; takes some 100 microseconds.
    package mutating func wrap(_ key: RecordKey, for owner: PublicIdentity) throws(EncryptionError) {
        guard key.epoch == epoch else { throw .wrongEpoch(key.item, found: key.epoch, expected: epoch) }
        let frame = KeyWrap.frame(key.place, epoch: epoch, opener: .owner)
        let bytes = try OwnerWrap.wrap(key.material, for: owner, authenticating: frame, item: key.item)
        try add(KeyWrap(opener: .owner, bytes: bytes))
    }

    /// Keeps the key of an earlier epoch within reach of the present one, for children not written since.
    package mutating func keep(
        _ earlier: RecordKey, under key: RecordKey, random: Randomness = .system
    ) throws(EncryptionError) {
        guard earlier.place == key.place, earlier.epoch < epoch, key.epoch == epoch else {
            throw .malformed(.protection, reason: "an earlier key is of the same record and a lower epoch")
        }
        let opener = KeyWrap.Opener.present(earlier: earlier.epoch)
        let frame = KeyWrap.frame(key.place, epoch: epoch, opener: opener)
        let bytes = try key.material.wrap(
            earlier.material, authenticating: frame, item: key.item, random: random)
        try add(KeyWrap(opener: opener, bytes: bytes))
    }

    /// For a record that has no parent any more.
    package mutating func removeParent() {
        wraps.removeAll { if case .parent = $0.opener { true } else { false } }
    }

    /// For a record that left a share's tree.
    package mutating func removeShare(_ record: String) {
        wraps.removeAll { if case .share(record, _) = $0.opener { true } else { false } }
    }

    private func wrapped(
        _ key: RecordKey, opener: KeyWrap.Opener, under other: KeyMaterial, random: Randomness
    ) throws(EncryptionError) -> KeyWrap {
        guard key.epoch == epoch else { throw .wrongEpoch(key.item, found: key.epoch, expected: epoch) }
        let frame = KeyWrap.frame(key.place, epoch: epoch, opener: opener)
        return KeyWrap(
            opener: opener,
            bytes: try other.wrap(key.material, authenticating: frame, item: key.item, random: random))
    }

    private mutating func add(_ wrap: KeyWrap) throws(EncryptionError) {
        if case .parent(let name, _) = wrap.opener, name.utf8.count > Self.nameBytesMax {
            throw .malformed(.protection, reason: "the parent's name is too long")
        }
        if case .share(let name, _) = wrap.opener, name.utf8.count > Self.nameBytesMax {
            throw .malformed(.protection, reason: "the share's name is too long")
        }
        wraps.removeAll { $0.opener == wrap.opener }
        guard wraps.count < Self.wrapsMax else { throw .tooMany(.protection, limit: Self.wrapsMax) }
        wraps.append(wrap)
    }
}

// MARK: - Opening

extension RecordProtection {
    /// Returns the record's key, opened with the zone's key of this epoch.
    /// - Throws: `noKey` if a member without the zone's key made it: open it under the share's or the parent's key.
    package func key(of name: String, zoneKey: ZoneKey) throws(EncryptionError) -> RecordKey {
        guard zoneKey.epoch == epoch else {
            throw .wrongEpoch(.zoneKey(zone: zoneKey.place.zone), found: zoneKey.epoch, expected: epoch)
        }
        guard origin == .derived else { throw .noKey(.recordKey(record: name)) }
        return zoneKey.recordKey(name)
    }

    /// Returns the record's key, opened with the key of its parent.
    package func key(of name: String, parent: RecordKey) throws(EncryptionError) -> RecordKey {
        try unwrap(
            RecordAddress(zone: parent.place.zone, name: name),
            .parent(record: parent.place.name, epoch: parent.epoch), with: parent.material)
    }

    /// The record's key, for members of the share.
    package func key(of name: String, share: ShareKey) throws(EncryptionError) -> RecordKey {
        try unwrap(
            RecordAddress(zone: share.place.zone, name: name), .share(record: share.place.name, epoch: share.epoch),
            with: share.material)
    }

    /// The record's key, for the zone's owner.
    /// - Throws: `noKey` if it is not wrapped for the owner: they have it by other ways.
    package func key(of record: RecordAddress, owner: AccountIdentity) throws(EncryptionError) -> RecordKey {
        let item = EncryptionError.Item.recordKey(record: record.name)
        guard let wrap = wraps.first(where: { $0.opener == .owner }) else { throw .noKey(item) }
        let frame = KeyWrap.frame(record, epoch: epoch, opener: .owner)
        let material = try OwnerWrap.unwrap(wrap.bytes, with: owner, authenticating: frame, item: item)
        return RecordKey(place: record, epoch: epoch, origin: origin, material: material)
    }

    /// The key that the record had in an earlier epoch.
    package func earlierKey(_ earlier: UInt32, key: RecordKey) throws(EncryptionError) -> RecordKey {
        guard key.epoch == epoch else { throw .wrongEpoch(key.item, found: key.epoch, expected: epoch) }
        let opener = KeyWrap.Opener.present(earlier: earlier)
        let material = try material(opener, of: key.place, with: key.material)
        return RecordKey(place: key.place, epoch: earlier, origin: .made, material: material)
    }

    private func unwrap(
        _ place: RecordAddress, _ opener: KeyWrap.Opener, with other: KeyMaterial
    ) throws(EncryptionError) -> RecordKey {
        RecordKey(place: place, epoch: epoch, origin: origin, material: try material(opener, of: place, with: other))
    }

    private func material(
        _ opener: KeyWrap.Opener, of place: RecordAddress, with other: KeyMaterial
    ) throws(EncryptionError) -> KeyMaterial {
        let item = EncryptionError.Item.recordKey(record: place.name)
        guard let wrap = wraps.first(where: { $0.opener == opener }) else { throw .noKey(item) }
        let frame = KeyWrap.frame(place, epoch: epoch, opener: opener)
        return try other.unwrap(wrap.bytes[...], authenticating: frame, item: item)
    }
}
