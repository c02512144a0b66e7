import Crypto
import Foundation

/// A statement as the cloud carries it beside the share's keys: signed by the owner or an administrator, numbered, and sealed
/// under the share's key, so that members read it and the cloud does not.
package struct SealedShareStatement: Hashable, Sendable {
    /// The share.
    package let share: RecordAddress
    /// The epoch of the share's key that opens it.
    package let epoch: UInt32
    /// The number of the statement: one more than that of the statement before it; 1 for the first of a share.
    package let counter: UInt64
    private let sealed: [UInt8]

    private static let version: UInt8 = 1

    /// The most bytes of a statement; one of 100 participants with ids of 36 characters has about 10,900.
    package static let bytesMax = 16_384
}

// MARK: - Sealing

extension SealedShareStatement {
    /// Signs a statement and seals it under the share's key.
    ///
    /// - Parameters:
    ///   - counter: The number of the statement.
    ///   - signer: The user record name of the signing user, and their keys.
    ///   - authority: An administrator's right to invite; nil for the owner.
    /// - Throws: `malformed` for a statement of another share, `tooMany` beyond `participantsMax` or `bytesMax`.
    package init(
        _ statement: ShareStatement, counter: UInt64, under key: ShareKey, by signer: String,
        with identity: AccountIdentity, authority: ShareAuthority? = nil, random: Randomness = .system
    ) throws(EncryptionError) {
        let item = EncryptionError.Item.shareStatement(share: key.place.name)
        guard statement.share == key.place else { throw .malformed(item, reason: "the statement of another share") }
        guard (signer == key.place.zone.owner) == (authority == nil) else {
            throw .malformed(item, reason: "the owner signs, or an administrator whom the owner made one")
        }
        try statement.check(item)
        share = key.place
        epoch = key.epoch
        self.counter = counter
        let place = Self.place(share, epoch, counter)
        var plain = statement.body
        plain.appendName(signer)
        plain += identity.publicIdentity.bytes
        plain.append(authority == nil ? 0 : 1)
        if let authority { plain += authority.bytes }
        do {
            plain += try identity.signing.signature(for: Self.message(place, plain))
        } catch {
            throw .malformed(item, reason: "it cannot be signed")
        }
        sealed = try key.material.seal(plain, authenticating: place, item: item, random: random)
        guard bytes.count <= Self.bytesMax else { throw .tooMany(item, limit: ShareStatement.participantsMax) }
    }

    /// The form that the cloud carries: version 1, epoch, counter in 8 bytes; nonce, ciphertext and tag.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = [Self.version]
        bytes.appendBigEndian(epoch)
        bytes.appendBigEndian(counter)
        return bytes + sealed
    }

    private static func place(_ share: RecordAddress, _ epoch: UInt32, _ counter: UInt64) -> Frame {
        var frame = Frame("welkin share statement 1")
        frame.append(share.frame)
        frame.append(epoch)
        frame.append(counter)
        return frame
    }

    private static func message(_ place: Frame, _ body: [UInt8]) -> [UInt8] {
        var message = place
        message.append(body)
        return message.bytes
    }
}

// MARK: - Opening

extension SealedShareStatement {
    /// Reads the form that the cloud carries; nothing is verified before the statement is opened.
    package init(bytes: [UInt8], share: RecordAddress) throws(EncryptionError) {
        let item = EncryptionError.Item.shareStatement(share: share.name)
        guard bytes.count <= Self.bytesMax else { throw .tooMany(item, limit: ShareStatement.participantsMax) }
        self.share = share
        var reader = ByteReader(bytes, of: item)
        try reader.takeVersion(Self.version)
        epoch = try reader.takeNumber()
        counter = try reader.takeNumber()
        sealed = Array(reader.takeRest())
    }

    /// Returns the statement after the signature, the signer's right and the order of statements were verified.
    ///
    /// - Parameters:
    ///   - pins: Owner and administrator are looked up here, or remembered when seen for the first time.
    ///   - epochs: Refuses a statement below one that this device has seen, or another one of the same number.
    /// - Throws: `wrongEpoch`, `doesNotOpen`, `badSignature`, `identityReplaced`, `epochWentBack`, `counterWentBack`,
    ///   `rightEnded`, `contradicted`, `malformed`; then neither pins nor epochs have changed.
    package func open(
        _ key: ShareKey, pins: inout IdentityPins, epochs: inout HighestSeenEpochs
    ) throws(EncryptionError) -> ShareStatement {
        let item = EncryptionError.Item.shareStatement(share: share.name)
        guard key.place == share else { throw .malformed(item, reason: "the key of another share") }
        guard key.epoch == epoch else { throw .wrongEpoch(item, found: epoch, expected: key.epoch) }
        let place = Self.place(share, epoch, counter)
        let plain = try key.material.open(sealed[...], authenticating: place, item: item)
        var reader = ByteReader(plain, of: item)
        let statement = try ShareStatement(share, from: &reader)
        let signer = try Signer(from: &reader, item)
        let signature = Array(try reader.take(64))
        try reader.finish()
        var seenPins = pins
        var seenEpochs = epochs
        try signer.verify(share, epoch, item, &seenPins)
        let message = Self.message(place, Array(plain.dropLast(64)))
        guard signer.identity.signing.isValidSignature(signature, for: message) else { throw .badSignature(item) }
        try seenEpochs.see(self, digest: Fingerprint(of: plain), signer: signer.identity, authority: signer.authority)
        pins = seenPins
        epochs = seenEpochs
        return statement
    }

    /// The user who signed a statement, and their right.
    private struct Signer {
        let name: String
        let identity: PublicIdentity
        let authority: ShareAuthority?

        init(from reader: inout ByteReader, _ item: EncryptionError.Item) throws(EncryptionError) {
            name = try reader.takeName()
            identity = try PublicIdentity(bytes: Array(reader.take(PublicIdentity.byteCount)))
            authority = try reader.takeFlag() ? ShareAuthority(from: &reader) : nil
        }

        func verify(
            _ share: RecordAddress, _ epoch: UInt32, _ item: EncryptionError.Item, _ pins: inout IdentityPins
        ) throws(EncryptionError) {
            try pins.check(identity, of: IdentityPins.name(of: name, in: share.zone))
            guard let authority else {
                guard name == share.zone.owner else { throw .badSignature(item) }
                return
            }
            guard name != share.zone.owner, authority.grant.epoch <= epoch,
                authority.grant.isValid(of: share, to: identity, by: authority.owner)
            else { throw .badSignature(item) }
            try pins.check(authority.owner, of: IdentityPins.name(of: share.zone.owner, in: share.zone))
        }
    }
}

// MARK: - Bytes

extension ShareStatement {
    fileprivate func check(_ item: EncryptionError.Item) throws(EncryptionError) {
        guard participants.count <= Self.participantsMax else { throw .tooMany(item, limit: Self.participantsMax) }
        guard Set(participants.map(\.id)).count == participants.count,
            participants.allSatisfy({ (1...64).contains($0.id.utf8.count) })
        else { throw .malformed(item, reason: "an id occurs twice, or is empty or too long") }
        guard directoryHead.map({ $0.hash.count == 32 }) ?? true else {
            throw .malformed(item, reason: "a head of the directory has 32 bytes")
        }
        guard root?.utf8.count ?? 0 <= RecordProtection.nameBytesMax else {
            throw .malformed(item, reason: "the name of the root is too long")
        }
    }

    /// The bytes of the statement itself, without its signer.
    fileprivate var body: [UInt8] {
        var bytes: [UInt8] = [1, root == nil ? 0 : 1]
        if let root { bytes.appendName(root) }
        bytes.append(publicPermission.rawValue)
        bytes.append(directoryHead == nil ? 0 : 1)
        if let directoryHead {
            bytes.appendBigEndian(directoryHead.number)
            bytes += directoryHead.hash
        }
        bytes.append(UInt8(participants.count))
        for participant in participants {
            bytes.append(UInt8(participant.id.utf8.count))
            bytes += participant.id.utf8
            bytes.append(participant.isAdministrator ? 1 : 0)
            bytes.append(participant.permission.rawValue)
            bytes.append(participant.subject?.kind.rawValue ?? 0)
            bytes += participant.subject?.hash ?? []
            bytes.append(participant.identity == nil ? 0 : 1)
            bytes += participant.identity?.bytes ?? []
        }
        return bytes
    }

    fileprivate init(_ share: RecordAddress, from reader: inout ByteReader) throws(EncryptionError) {
        try reader.takeVersion()
        let root = try reader.takeFlag() ? reader.takeName() : nil
        self.init(of: share, root: root, publicPermission: try Permission(from: &reader))
        if try reader.takeFlag() {
            directoryHead = DirectoryHead(number: try reader.takeNumber(), hash: Array(try reader.take(32)))
        }
        let count = try reader.takeNumber(UInt8.self)
        for _ in 0..<count { participants.append(try Participant(from: &reader)) }
        try check(.shareStatement(share: share.name))
    }
}

extension ShareStatement.Permission {
    fileprivate init(from reader: inout ByteReader) throws(EncryptionError) {
        guard let permission = Self(rawValue: try reader.takeNumber()) else {
            throw reader.malformed("an unknown permission")
        }
        self = permission
    }
}

extension ShareStatement.Participant {
    fileprivate init(from reader: inout ByteReader) throws(EncryptionError) {
        let count = try reader.takeNumber(UInt8.self)
        guard let id = String(validating: try reader.take(Int(count)), as: UTF8.self) else {
            throw reader.malformed("an id is not UTF-8")
        }
        let isAdministrator = try reader.takeFlag()
        let permission = try ShareStatement.Permission(from: &reader)
        guard !isAdministrator || permission == .readWrite else {
            throw reader.malformed("an administrator can write")
        }
        let subject = try ShareStatement.Subject(from: &reader)
        let identity = try reader.takeFlag() ? Fingerprint(hash: try reader.take(Fingerprint.byteCount)) : nil
        self.init(
            id: id, isAdministrator: isAdministrator, permission: permission, subject: subject, identity: identity)
    }
}

extension ShareStatement.Subject {
    /// nil for the participant slot of a one-time link.
    fileprivate init?(from reader: inout ByteReader) throws(EncryptionError) {
        let byte = try reader.takeNumber(UInt8.self)
        if byte == 0 { return nil }
        guard let kind = Kind(rawValue: byte) else { throw reader.malformed("a subject of unknown kind") }
        self.init(kind: kind, hash: Array(try reader.take(32)))
    }
}

extension [UInt8] {
    /// Appends a name behind its length in 2 bytes.
    fileprivate mutating func appendName(_ name: String) {
        appendBigEndian(UInt16(clamping: name.utf8.count))
        append(contentsOf: name.utf8)
    }
}
