import Crypto

/// Seals and opens the fields of one record with its key.
///
/// Every value is bound to its place: container, environment, zone, record, type, field, field type, epoch (B-TM-04). One
/// sealer serves all fields of a record; it prepares what they have in common.
package struct RecordSealer: Sendable {
    /// The record's key.
    package let key: RecordKey
    /// What every authenticated part of the record has behind its purpose: place, type and epoch.
    private let location: Frame
    private let fieldLocation: Frame
    private var assetLocation: Frame { Frame("welkin asset key 1", location) }
    private var statementLocation: Frame { Frame("welkin record statement 1", location) }

    /// Creates a sealer for a record of a type.
    package init(_ key: RecordKey, recordType: String) {
        self.key = key
        var location = key.place.frame
        location.append(recordType)
        location.append(key.epoch)
        self.location = location
        fieldLocation = Frame("welkin field 1", location)
    }

    /// The bytes that a sealed value has more than the plain one: version 1, epoch (4, big-endian), nonce (12), tag (16).
    package static let overhead = 5 + KeyMaterial.overhead

    /// Seals a field's value.
    /// - Parameters:
    ///   - plain: The value's canonical JSON; a list as a whole.
    ///   - type: The field's type as the schema writes it, such as `ENCRYPTED_STRING_LIST`.
    package func seal(
        _ plain: [UInt8], field: String, type: String, random: Randomness = .system
    ) throws(EncryptionError) -> [UInt8] {
        try seal(plain, authenticating: fieldFrame(field, type), item: .field(field), random: random)
    }

    /// Opens a field's value.
    /// - Throws: `wrongEpoch` if it is not of the record's epoch, `doesNotOpen` if it was changed or sealed elsewhere.
    package func open(_ sealed: [UInt8], field: String, type: String) throws(EncryptionError) -> [UInt8] {
        try open(sealed, authenticating: fieldFrame(field, type), item: .field(field))
    }

    /// Seals an asset's key, size and checksum: what travels as the asset's `wrappingKey`.
    /// - Parameter position: In a list of assets, counted from 0; nil for a single asset.
    package func seal(
        _ asset: AssetSecret, field: String, position: Int? = nil, random: Randomness = .system
    ) throws(EncryptionError) -> [UInt8] {
        let frame = try assetFrame(field, position)
        return try seal(asset.bytes, authenticating: frame, item: .assetKey(field: field), random: random)
    }

    /// Opens the secret of an asset.
    package func openAsset(
        _ sealed: [UInt8], field: String, position: Int? = nil
    ) throws(EncryptionError) -> AssetSecret {
        let item = EncryptionError.Item.assetKey(field: field)
        return try AssetSecret(bytes: open(sealed, authenticating: assetFrame(field, position), item: item), item: item)
    }

    /// Authenticates a statement: nonce and tag of an empty text.
    func sealStatement(
        _ facts: RecordStatement.Facts, head: [UInt8], random: Randomness
    ) throws(EncryptionError) -> [UInt8] {
        let frame = statementFrame(facts, head: head)
        return try key.material.seal([UInt8](), authenticating: frame, item: .statement, random: random)
    }

    /// Checks nonce and tag of a statement.
    func openStatement(
        _ sealed: ArraySlice<UInt8>, _ facts: RecordStatement.Facts, head: [UInt8]
    ) throws(EncryptionError) {
        _ = try key.material.open(sealed, authenticating: statementFrame(facts, head: head), item: .statement)
    }

    private func statementFrame(_ facts: RecordStatement.Facts, head: [UInt8]) -> Frame {
        var frame = statementLocation
        frame.append(facts.parent ?? "")
        frame.append(facts.created == nil ? "" : facts.creator)
        frame.append(head)
        return frame
    }

    /// The end of a sealed value's tag, by which a statement lists it.
    package static func tag(ofSealed sealed: [UInt8]) -> UInt64 {
        sealed.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The tag by which a statement lists a list of files: of the sealed keys of all of them, in order.
    package static func tag(ofKeys keys: [[UInt8]]) -> UInt64 {
        var frame = Frame("welkin asset keys 1")
        for key in keys { frame.append(key) }
        return SHA256.hash(data: frame.bytes).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The epoch in which something was sealed, as its header says; nothing is verified.
    package static func epoch(ofSealed sealed: [UInt8], field: String) throws(EncryptionError) -> UInt32 {
        var reader = ByteReader(sealed, of: .field(field))
        try reader.takeVersion()
        return try reader.takeNumber()
    }

    private func fieldFrame(_ field: String, _ type: String) -> Frame {
        var frame = fieldLocation
        frame.append(field)
        frame.append(type)
        return frame
    }

    private func assetFrame(_ field: String, _ position: Int?) throws(EncryptionError) -> Frame {
        var frame = assetLocation
        frame.append(field)
        guard let position else {
            frame.append([UInt8]())
            return frame
        }
        guard let position = UInt32(exactly: position) else {
            throw .malformed(.assetKey(field: field), reason: "an impossible position in a list")
        }
        frame.append(position)
        return frame
    }

    private func seal(
        _ plain: [UInt8], authenticating frame: Frame, item: EncryptionError.Item, random: Randomness
    ) throws(EncryptionError) -> [UInt8] {
        var header: [UInt8] = [1]
        header.appendBigEndian(key.epoch)
        return try key.material.seal(plain, header: header, authenticating: frame, item: item, random: random)
    }

    private func open(
        _ sealed: [UInt8], authenticating frame: Frame, item: EncryptionError.Item
    ) throws(EncryptionError) -> [UInt8] {
        var reader = ByteReader(sealed, of: item)
        try reader.takeVersion()
        let epoch = try reader.takeNumber(UInt32.self)
        guard epoch == key.epoch else { throw .wrongEpoch(item, found: epoch, expected: key.epoch) }
        return try key.material.open(reader.takeRest(), authenticating: frame, item: item)
    }
}
