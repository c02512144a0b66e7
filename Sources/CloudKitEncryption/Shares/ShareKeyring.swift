/// Keys for all members of a share's epoch, wrapped under the share's key of that epoch.
///
/// The cloud carries it as the epoch's `blob`. With it, a member who joins today reads records of earlier epochs; a zone
/// that is shared as a whole gives its key to members here, and every member can show the link.
package struct ShareKeyring: Hashable, Sendable {
    private enum Entry: Hashable {
        case earlierShareKey(epoch: UInt32)
        case zoneKey(epoch: UInt32)
        case linkSecret

        var kind: UInt8 {
            switch self {
            case .earlierShareKey: 1
            case .zoneKey: 2
            case .linkSecret: 3
            }
        }
        var epoch: UInt32 {
            switch self {
            case .earlierShareKey(let epoch), .zoneKey(let epoch): epoch
            case .linkSecret: 0
            }
        }
    }

    /// The share.
    package let share: RecordAddress
    /// The epoch whose key the entries are wrapped under.
    package let epoch: UInt32
    private var entries: [Entry: [UInt8]] = [:]

    /// The number of entries that fit into the 2,048 bytes that the cloud stores.
    package static let entriesMax = 31

    /// An empty one, for an epoch that begins.
    package init(of key: ShareKey) {
        share = key.place
        epoch = key.epoch
    }

    /// As the cloud carries it.
    package init(bytes: [UInt8], share: RecordAddress) throws(EncryptionError) {
        self.share = share
        var reader = ByteReader(bytes, of: .shareKey(share: share.name))
        try reader.takeVersion()
        epoch = try reader.takeNumber()
        let count = try reader.takeNumber(UInt8.self)
        guard count <= Self.entriesMax else { throw .tooMany(.shareKey(share: share.name), limit: Self.entriesMax) }
        for _ in 0..<count {
            let entry = try Self.entry(from: &reader)
            guard entries[entry] == nil else {
                throw .malformed(.shareKey(share: share.name), reason: "two entries for one key")
            }
            entries[entry] = Array(try reader.take(KeyMaterial.wrappedByteCount))
        }
        try reader.finish()
    }

    private static func entry(from reader: inout ByteReader) throws(EncryptionError) -> Entry {
        let kind = try reader.takeNumber(UInt8.self)
        let epoch = try reader.takeNumber(UInt32.self)
        switch kind {
        case 1: return .earlierShareKey(epoch: epoch)
        case 2: return .zoneKey(epoch: epoch)
        case 3 where epoch == 0: return .linkSecret
        default: throw reader.malformed("an entry of unknown kind")
        }
    }

    /// Version 1, epoch, count; entries of kind, epoch and 60 bytes, ordered by kind and epoch.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = [1]
        bytes.appendBigEndian(epoch)
        bytes.append(UInt8(entries.count))
        for (entry, wrapped) in entries.sorted(by: { ($0.key.kind, $0.key.epoch) < ($1.key.kind, $1.key.epoch) }) {
            bytes.append(entry.kind)
            bytes.appendBigEndian(entry.epoch)
            bytes.append(contentsOf: wrapped)
        }
        return bytes
    }
}

// MARK: - Filling

extension ShareKeyring {
    /// Puts the key of an earlier epoch under this epoch's; of the one before, which opens the one before that.
    package mutating func add(
        earlier: ShareKey, under key: ShareKey, random: Randomness = .system
    ) throws(EncryptionError) {
        guard earlier.place == share, earlier.epoch < epoch else {
            throw .malformed(item, reason: "an earlier key is of the same share and a lower epoch")
        }
        try add(.earlierShareKey(epoch: earlier.epoch), earlier.material, under: key, random: random)
    }

    /// Hands the zone's key to every member of a share of the whole zone.
    package mutating func add(
        _ zoneKey: ZoneKey, under key: ShareKey, random: Randomness = .system
    ) throws(EncryptionError) {
        guard zoneKey.place == share.zone else { throw .malformed(item, reason: "the key of another zone") }
        try add(.zoneKey(epoch: zoneKey.epoch), zoneKey.material, under: key, random: random)
    }

    /// Lets every member show the link.
    package mutating func add(
        _ link: ShareLinkSecret, under key: ShareKey, random: Randomness = .system
    ) throws(EncryptionError) {
        try add(.linkSecret, link.material, under: key, random: random)
    }

    private mutating func add(
        _ entry: Entry, _ material: KeyMaterial, under key: ShareKey, random: Randomness
    ) throws(EncryptionError) {
        try check(key)
        guard entries[entry] != nil || entries.count < Self.entriesMax else {
            throw .tooMany(item, limit: Self.entriesMax)
        }
        entries[entry] = try key.material.wrap(material, authenticating: frame(entry), item: item, random: random)
    }

    private var item: EncryptionError.Item { .shareKey(share: share.name) }

    private func check(_ key: ShareKey) throws(EncryptionError) {
        guard key.place == share else { throw .malformed(item, reason: "the key of another share") }
        guard key.epoch == epoch else { throw .wrongEpoch(item, found: key.epoch, expected: epoch) }
    }

    private func frame(_ entry: Entry) -> Frame {
        var frame = Frame("welkin share keyring 1")
        frame.append(share.frame)
        frame.append(epoch)
        frame.append([entry.kind])
        frame.append(entry.epoch)
        return frame
    }
}

// MARK: - Opening

extension ShareKeyring {
    /// Returns a Boolean value that indicates whether the zone's key of an epoch is in it.
    package func holdsZoneKey(_ epoch: UInt32) -> Bool { entries[.zoneKey(epoch: epoch)] != nil }

    /// The share's keys of earlier epochs that this one opens directly, the newest first.
    package func earlierKeys(_ key: ShareKey) throws(EncryptionError) -> [ShareKey] {
        var keys: [ShareKey] = []
        for case .earlierShareKey(let epoch) in entries.keys {
            let material = try material(.earlierShareKey(epoch: epoch), key)
            keys.append(ShareKey(place: share, epoch: epoch, material: material))
        }
        return keys.sorted { $0.epoch > $1.epoch }
    }

    /// The zone's keys, the newest epoch first; none unless the whole zone is shared.
    package func zoneKeys(_ key: ShareKey) throws(EncryptionError) -> [ZoneKey] {
        var keys: [ZoneKey] = []
        for case .zoneKey(let epoch) in entries.keys {
            let material = try material(.zoneKey(epoch: epoch), key)
            keys.append(ZoneKey(place: share.zone, epoch: epoch, material: material))
        }
        return keys.sorted { $0.epoch > $1.epoch }
    }

    /// The link's secret; nil if the share has no link.
    package func linkSecret(_ key: ShareKey) throws(EncryptionError) -> ShareLinkSecret? {
        guard entries[.linkSecret] != nil else { return nil }
        return ShareLinkSecret(try material(.linkSecret, key))
    }

    private func material(_ entry: Entry, _ key: ShareKey) throws(EncryptionError) -> KeyMaterial {
        try check(key)
        guard let wrapped = entries[entry] else { throw .noKey(item) }
        return try key.material.unwrap(wrapped[...], authenticating: frame(entry), item: item)
    }
}
