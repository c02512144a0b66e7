import Crypto
import Foundation

/// Everything that the device which asks for an account's keys and the one which gives them have to agree on.
///
/// Both compute the code from what they have seen themselves; a cloud that changed any part shows in another code, except once in a million
/// attempts (docs/encryption.md).
package struct KeyApproval: Hashable, Sendable {
    /// The new device, by the name of its session.
    package let device: String
    /// The device that approves, by the name of its session.
    package let approver: String
    /// The key of the new device: 32 bytes.
    package let publicKey: [UInt8]
    /// The new device's nonce: 32 bytes.
    package let nonce: [UInt8]
    /// The approving device's nonce: 32 bytes.
    package let answer: [UInt8]
    /// The account's public identity.
    package let identity: PublicIdentity

    /// Creates the value on the new device.
    ///
    /// - Parameters:
    ///   - request: The device's own request.
    ///   - device: The new device.
    ///   - approver: The device that answered.
    ///   - answer: Its nonce.
    ///   - identity: The account's identity, as the cloud shows it: the code shows whether it is the one of the approving device.
    /// - Throws: `malformed` for a nonce of another length.
    package init(
        of request: KeyRequest, device: String, approver: String, answer: [UInt8], identity: PublicIdentity
    ) throws(EncryptionError) {
        guard answer.count == KeyMaterial.byteCount else { throw Self.malformed }
        self.device = device
        self.approver = approver
        publicKey = request.publicKey
        nonce = request.nonce
        self.answer = answer
        self.identity = identity
    }

    /// Creates the value on the approving device, which has the account's secret.
    ///
    /// - Parameters:
    ///   - device: The new device.
    ///   - approver: This device.
    ///   - commitment: What the new device showed before this device drew its nonce.
    ///   - publicKey: What the new device revealed.
    ///   - nonce: What the new device revealed.
    ///   - answer: The nonce of this device.
    ///   - secret: The account's secret.
    /// - Throws: `contradicted` when key and nonce are not those of the commitment; `malformed`.
    package init(
        device: String, approver: String, commitment: [UInt8], publicKey: [UInt8], nonce: [UInt8],
        answer: [UInt8], secret: AccountSecret
    ) throws(EncryptionError) {
        guard [commitment, publicKey, nonce, answer].allSatisfy({ $0.count == KeyMaterial.byteCount }) else {
            throw Self.malformed
        }
        guard areEqualInConstantTime(Self.commitment(publicKey: publicKey, nonce: nonce), commitment) else {
            throw .contradicted(.keyApproval, reason: "it is not for the key to which the new device committed itself")
        }
        self.device = device
        self.approver = approver
        self.publicKey = publicKey
        self.nonce = nonce
        self.answer = answer
        identity = try secret.identity().publicIdentity
    }

    private static let malformed = EncryptionError.malformed(.keyApproval, reason: "keys and nonces have 32 bytes")

    static func commitment(publicKey: [UInt8], nonce: [UInt8]) -> [UInt8] {
        var frame = Frame("welkin key request 1")
        frame.append(publicKey)
        frame.append(nonce)
        return Array(SHA256.hash(data: frame.bytes))
    }

    private func frame(_ purpose: String) -> Frame {
        var frame = Frame(purpose)
        frame.append(device)
        frame.append(approver)
        frame.append(publicKey)
        frame.append(nonce)
        frame.append(answer)
        frame.append(identity.keyBytes)
        return frame
    }

    /// The six digits that the new device shows; the person types them on the approving device.
    package var code: String { digits("welkin key approval code 1") }

    /// The six digits that the approving device shows after the code was right; the person types them on the new device.
    ///
    /// Without them a cloud that answers in the place of the person's device could give the new device keys of its own.
    package var confirmation: String { digits("welkin key approval confirmation 1") }

    /// Returns whether a person has typed the digits, with or without spaces.
    package static func isTyped(_ typed: String, for digits: String) -> Bool {
        areEqualInConstantTime(Array(typed.filter { !$0.isWhitespace }.utf8), Array(digits.utf8))
    }

    private func digits(_ purpose: String) -> String {
        let hash = SHA256.hash(data: frame(purpose).bytes)
        let number = hash.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 1_000_000
        let digits = String(number)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    // MARK: Sealing

    private static let version: UInt8 = 1
    private static let info = Data(Frame("welkin key approval 1").bytes)
    private static var suite: HPKE.Ciphersuite {
        HPKE.Ciphersuite(kem: .Curve25519_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .AES_GCM_256)
    }

    /// Seals the account's secret to the new device: 81 bytes. The code has to have been typed before.
    package func seal(_ secret: AccountSecret) throws(EncryptionError) -> [UInt8] {
        do {
            let key = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey)
            var sender = try HPKE.Sender(recipientKey: key, ciphersuite: Self.suite, info: Self.info)
            let sealed = try sender.seal(secret.bytes, authenticating: frame("welkin key approval secret 1").bytes)
            return [Self.version] + Array(sender.encapsulatedKey) + Array(sealed)
        } catch {
            throw .malformed(.keyApproval, reason: "it cannot be sealed to the new device")
        }
    }

    /// Opens the account's secret on the new device.
    ///
    /// - Throws: `doesNotOpen` for what was sealed for another device, account or exchange; `contradicted` for a secret of other keys than the
    ///   account's.
    package func open(_ sealed: [UInt8], with request: KeyRequest) throws(EncryptionError) -> AccountSecret {
        var reader = ByteReader(sealed, of: .keyApproval)
        try reader.takeVersion(Self.version)
        let encapsulated = Data(try reader.take(32))
        let box = Data(try reader.take(KeyMaterial.byteCount + 16))
        try reader.finish()
        let bytes: Data
        do {
            var recipient = try HPKE.Recipient(
                privateKey: request.privateKey, ciphersuite: Self.suite, info: Self.info, encapsulatedKey: encapsulated)
            bytes = try recipient.open(box, authenticating: frame("welkin key approval secret 1").bytes)
        } catch {
            throw .doesNotOpen(.keyApproval)
        }
        let secret = try AccountSecret(bytes: Array(bytes))
        guard try secret.identity().publicIdentity == identity else {
            throw .contradicted(.keyApproval, reason: "the keys are others than the account's")
        }
        return secret
    }

    /// Returns what shows the approving device that the new one has opened the secret: 32 bytes.
    package func receipt(_ secret: AccountSecret) -> [UInt8] {
        KeyMaterial(secret.bytes).derive(frame("welkin key approval receipt 1")).bytes
    }
}
