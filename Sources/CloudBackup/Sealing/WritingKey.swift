import Crypto
import Foundation

/// The key with which a machine adds moments to a backup that is sealed to a recipient: it names chunks, and seals manifests and lists.
///
/// It opens no content. The machine keeps it in a file; the header has it sealed to the recipient.
struct WritingKey: Sendable {
    let key: SymmetricKey
    let recipient: BackupRecipient

    private static let info = Data("welkin backup 2 writing key".utf8)

    init(for recipient: BackupRecipient) {
        key = SymmetricKey(size: .bits256)
        self.recipient = recipient
    }

    private init(_ key: SymmetricKey, _ recipient: BackupRecipient) {
        self.key = key
        self.recipient = recipient
    }

    // MARK: In the header

    func sealed() throws -> BackupHeader.RecipientSeal {
        let bytes = try SealedKey.seal(key, to: recipient, info: Self.info)
        return BackupHeader.RecipientSeal(
            recipient: recipient.description, key: Data(bytes).base64EncodedString())
    }

    /// - Throws: `keyWrong` if another key is the private one of the recipient, `damaged`.
    init(_ seal: BackupHeader.RecipientSeal, opening privateKey: BackupPrivateKey, path: String) throws(BackupError) {
        guard let recipient = try? BackupRecipient(seal.recipient), let bytes = Data(base64Encoded: seal.key) else {
            throw .damaged(BackupHeader.fileName, "the form of the sealed key is not known")
        }
        guard recipient == privateKey.recipient,
            let key = SealedKey.open(Array(bytes), with: privateKey, info: Self.info)
        else { throw .keyWrong(path) }
        self.init(key, recipient)
    }

    // MARK: On the machine

    private struct Held: Codable {
        var recipient: String
        /// Base64.
        var key: String
    }

    private static func path(_ seal: BackupHeader.RecipientSeal, in folder: String) -> String {
        let digest = SHA256.hash(data: Data(("welkin backup 2 id" + seal.key).utf8))
        // A digest of SHA-256 has 32 bytes.
        return folder + "/" + ChunkID(digest)!.name.prefix(32) + ".json"
    }

    /// Reads the writing key of a backup; nil: this machine has none.
    ///
    /// - Throws: `damaged` if the header names another recipient than the machine knows: somebody may have exchanged it.
    init?(_ seal: BackupHeader.RecipientSeal, in folder: String) throws(BackupError) {
        let path = Self.path(seal, in: folder)
        guard let bytes = try BackupDisk.read(path) else { return nil }
        guard let held = try? JSONDecoder().decode(Held.self, from: Data(bytes)),
            let key = Data(base64Encoded: held.key), key.count == 32
        else { throw .damaged(path, "it is no writing key") }
        guard held.recipient == seal.recipient else {
            throw .damaged(BackupHeader.fileName, "it names another recipient than this machine knows")
        }
        self.init(SymmetricKey(data: key), try BackupRecipient(held.recipient))
    }

    /// Keeps the writing key on this machine.
    func keep(_ seal: BackupHeader.RecipientSeal, in folder: String) throws {
        try BackupDisk.makeFolder(folder)
        let held = Held(
            recipient: recipient.description, key: key.withUnsafeBytes { Data($0) }.base64EncodedString())
        try BackupDisk.replace(
            Self.path(seal, in: folder), with: Array(try JSONEncoder().encode(held)) + [10], isDurable: true)
        try BackupDisk.synchronizeFolder(of: folder)
    }
}

/// A key that is sealed to a recipient: 32 bytes encapsulated, 48 sealed.
enum SealedKey {
    static let byteCount = 80

    private static var suite: HPKE.Ciphersuite {
        HPKE.Ciphersuite(kem: .Curve25519_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .AES_GCM_256)
    }

    static func seal(_ key: SymmetricKey, to recipient: BackupRecipient, info: Data) throws -> [UInt8] {
        var sender = try HPKE.Sender(recipientKey: recipient.key, ciphersuite: suite, info: info)
        let sealed = try sender.seal(key.withUnsafeBytes { Data($0) })
        return Array(sender.encapsulatedKey) + Array(sealed)
    }

    /// nil: it was not sealed to this key.
    static func open(_ bytes: [UInt8], with privateKey: BackupPrivateKey, info: Data) -> SymmetricKey? {
        guard bytes.count == byteCount,
            var recipient = try? HPKE.Recipient(
                privateKey: privateKey.key, ciphersuite: suite, info: info, encapsulatedKey: Data(bytes.prefix(32))),
            let key = try? recipient.open(Data(bytes.dropFirst(32))), key.count == 32
        else { return nil }
        return SymmetricKey(data: key)
    }
}
