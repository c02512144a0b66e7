import Crypto
import Foundation

/// A share's key for one participant: sealed to their public key, signed by the inviter (B-TM-06).
///
/// The cloud carries it as the participant's `wrap`. Only the owner, or a participant whom the owner made an
/// administrator, can invite: otherwise a malicious cloud could invent an administrator and distribute a key that it
/// made.
package struct SealedShareInvitation: Hashable, Sendable {
    /// The share.
    package let share: RecordAddress
    /// The epoch of the share's key.
    package let epoch: UInt32
    /// The inviter's user record name.
    package let inviter: String
    /// The public identity of the inviter.
    package let inviterIdentity: PublicIdentity
    /// Present if the inviter is an administrator: by what right.
    package let authority: ShareAuthority?
    /// Of an administrator's invitation: the identities of former administrators, whose rights end with it.
    package let ended: [Fingerprint]
    /// Present if the participant is to be an administrator.
    let grant: ShareGrant?
    let encapsulated: [UInt8]
    let sealed: [UInt8]
    private let signature: [UInt8]

    static let version: UInt8 = 1

    /// Rights that one invitation ends, at most.
    package static let endedMax = 12

    private static var suite: HPKE.Ciphersuite {
        HPKE.Ciphersuite(kem: .Curve25519_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .AES_GCM_256)
    }
    private static let info = Data(Frame("welkin share invitation 1").bytes)
}

// MARK: - Inviting

extension SealedShareInvitation {
    /// Seals a share's key to a participant.
    ///
    /// The sealing draws on the system's randomness alone: the library offers no other.
    /// - Parameters:
    ///   - participant: The participant's id.
    ///   - identity: Their public identity, checked against `IdentityPins`.
    ///   - inviter: Who invites, by user record name, and with which keys.
    ///   - authority: An administrator's right to invite; nil for the owner.
    ///   - administrator: Whether the participant may invite others; the owner alone gives that.
    ///   - ended: Whose rights end, by an administrator's word: `endedMax` at most.
    package init(
        _ key: ShareKey, to participant: String, identity: PublicIdentity, by inviter: String,
        with inviterIdentity: AccountIdentity, authority: ShareAuthority? = nil, administrator: Bool = false,
        ended: [Fingerprint] = []
    ) throws(EncryptionError) {
        let item = EncryptionError.Item.invitation(share: key.place.name)
        guard inviter.utf8.count <= RecordProtection.nameBytesMax else {
            throw .malformed(item, reason: "the inviter's name is too long")
        }
        guard (inviter == key.place.zone.owner) == (authority == nil), authority == nil || !administrator else {
            throw .malformed(item, reason: "the owner invites, or an administrator whom the owner made one")
        }
        guard ended.count <= Self.endedMax else { throw .tooMany(item, limit: Self.endedMax) }
        guard authority != nil || ended.isEmpty else {
            throw .malformed(item, reason: "the owner ends rights with an epoch")
        }
        self.inviter = inviter
        self.inviterIdentity = inviterIdentity.publicIdentity
        self.authority = authority
        self.ended = ended
        share = key.place
        epoch = key.epoch
        do {
            grant =
                administrator
                ? try ShareGrant(of: key.place, epoch: key.epoch, to: identity, by: inviterIdentity) : nil
            var sender = try HPKE.Sender(recipientKey: identity.agreement, ciphersuite: Self.suite, info: Self.info)
            let place = Self.place(key.place, key.epoch, participant: participant).bytes
            sealed = Array(try sender.seal(key.material.bytes, authenticating: place))
            encapsulated = Array(sender.encapsulatedKey)
            var message = Self.place(key.place, key.epoch, participant: participant)
            message.append(
                Self.body(
                    epoch: epoch, inviter: inviter, identity: self.inviterIdentity, authority: authority, ended: ended,
                    grant: grant,
                    encapsulated: encapsulated, sealed: sealed))
            signature = Array(try inviterIdentity.signing.signature(for: message.bytes))
        } catch {
            throw .malformed(item, reason: "it cannot be sealed to the participant's key")
        }
    }

    /// The encoded invitation: at most 1,024 bytes if the inviter's name has at most 512, or 160 where rights end.
    package var bytes: [UInt8] {
        Self.body(
            epoch: epoch, inviter: inviter, identity: inviterIdentity, authority: authority, ended: ended, grant: grant,
            encapsulated: encapsulated, sealed: sealed) + signature
    }

    private static func body(
        epoch: UInt32, inviter: String, identity: PublicIdentity, authority: ShareAuthority?, ended: [Fingerprint],
        grant: ShareGrant?, encapsulated: [UInt8], sealed: [UInt8]
    ) -> [UInt8] {
        var bytes: [UInt8] = [version]
        bytes.appendBigEndian(epoch)
        bytes.appendBigEndian(UInt16(inviter.utf8.count))
        bytes.append(contentsOf: inviter.utf8)
        bytes.append(contentsOf: identity.bytes)
        bytes.append(authority == nil ? 0 : ended.isEmpty ? 1 : 2)
        if let authority { bytes.append(contentsOf: authority.bytes) }
        if !ended.isEmpty {
            bytes.append(UInt8(clamping: ended.count))
            for identity in ended { bytes.append(contentsOf: identity.bytes) }
        }
        bytes.append(grant == nil ? 0 : 1)
        if let grant { bytes.append(contentsOf: grant.signature) }
        return bytes + encapsulated + sealed
    }

    private static func place(_ share: RecordAddress, _ epoch: UInt32, participant: String) -> Frame {
        var frame = Frame("welkin share key for participant 1")
        frame.append(share.frame)
        frame.append(epoch)
        frame.append(participant)
        return frame
    }
}

// MARK: - Reading

extension SealedShareInvitation {
    /// Reads the form that the cloud carries; the signature is verified when the invitation is opened.
    package init(bytes: [UInt8], share: RecordAddress) throws(EncryptionError) {
        let item = EncryptionError.Item.invitation(share: share.name)
        self.share = share
        var reader = ByteReader(bytes, of: item)
        try reader.takeVersion(Self.version)
        epoch = try reader.takeNumber()
        inviter = try reader.takeName()
        inviterIdentity = try PublicIdentity(bytes: Array(reader.take(PublicIdentity.byteCount)))
        let kind = try reader.takeNumber(UInt8.self)
        guard kind <= 2 else { throw .malformed(item, reason: "an inviter of unknown kind") }
        authority = kind == 0 ? nil : try ShareAuthority(from: &reader)
        ended = kind == 2 ? try Self.ended(from: &reader) : []
        grant = try reader.takeFlag() ? ShareGrant(epoch: epoch, signature: Array(reader.take(64))) : nil
        encapsulated = Array(try reader.take(32))
        sealed = Array(try reader.take(48))
        signature = Array(try reader.take(64))
        try reader.finish()
    }

    private static func ended(from reader: inout ByteReader) throws(EncryptionError) -> [Fingerprint] {
        let count = try reader.takeNumber(UInt8.self)
        guard (1...endedMax).contains(Int(count)) else {
            throw reader.malformed("it ends the rights of nobody, or of too many")
        }
        var ended: [Fingerprint] = []
        for _ in 0..<count { ended.append(Fingerprint(hash: try reader.take(Fingerprint.byteCount))) }
        return ended
    }

    /// Returns the share's key, after the rights of inviter and participant were verified.
    ///
    /// - Parameters:
    ///   - participant: One's own id among the participants.
    ///   - pins: Owner and administrator are looked up here, or remembered when seen for the first time.
    ///   - epochs: Refuses an epoch, or an administrator, that the owner has replaced.
    /// - Throws: `badSignature`, `identityReplaced`, `epochWentBack`, `rightEnded`, `doesNotOpen`; then neither pins nor
    ///   epochs have changed.
    package func open(
        as participant: String, with identity: AccountIdentity, pins: inout IdentityPins,
        epochs: inout HighestSeenEpochs
    ) throws(EncryptionError) -> ShareKey {
        var seen = pins
        var seenEpochs = epochs
        try verify(participant, &seen)
        try seenEpochs.see(self)
        let key = try unseal(participant, identity)
        pins = seen
        epochs = seenEpochs
        return key
    }

    /// The right to invite that this invitation gives its participant; nil unless the owner made them an administrator.
    package func authority(for identity: PublicIdentity) -> ShareAuthority? {
        guard let grant, authority == nil, grant.isValid(of: share, to: identity, by: inviterIdentity) else {
            return nil
        }
        return ShareAuthority(owner: inviterIdentity, grant: grant)
    }

    private func verify(_ participant: String, _ pins: inout IdentityPins) throws(EncryptionError) {
        let item = EncryptionError.Item.invitation(share: share.name)
        try pins.check(inviterIdentity, of: IdentityPins.name(of: inviter, in: share.zone))
        if let authority {
            guard authority.grant.epoch <= epoch,
                authority.grant.isValid(of: share, to: inviterIdentity, by: authority.owner)
            else { throw .badSignature(item) }
            try pins.check(authority.owner, of: IdentityPins.name(of: share.zone.owner, in: share.zone))
        } else if inviter != share.zone.owner {
            throw .badSignature(item)
        }
        var message = Self.place(share, epoch, participant: participant)
        message.append(
            Self.body(
                epoch: epoch, inviter: inviter, identity: inviterIdentity, authority: authority, ended: ended,
                grant: grant,
                encapsulated: encapsulated, sealed: sealed))
        guard inviterIdentity.signing.isValidSignature(signature, for: message.bytes) else { throw .badSignature(item) }
    }

    private func unseal(_ participant: String, _ identity: AccountIdentity) throws(EncryptionError) -> ShareKey {
        let place = Self.place(share, epoch, participant: participant).bytes
        do {
            var recipient = try HPKE.Recipient(
                privateKey: identity.agreement, ciphersuite: Self.suite, info: Self.info,
                encapsulatedKey: Data(encapsulated))
            let bytes = try recipient.open(sealed, authenticating: place)
            return ShareKey(place: share, epoch: epoch, material: KeyMaterial(bytes))
        } catch {
            throw .doesNotOpen(.invitation(share: share.name))
        }
    }
}
