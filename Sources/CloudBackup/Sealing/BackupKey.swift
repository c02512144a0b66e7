import Crypto
import CryptoExtras
import Foundation

/// The key of a sealed backup, and what it seals.
struct BackupKey: Sendable {
    private let names: SymmetricKey
    private let chunks: SymmetricKey
    private let manifests: SymmetricKey
    private let changes: SymmetricKey
    /// Names lists, if contents are sealed to a recipient: a list and a content have other keys then, and other names.
    private let listNames: SymmetricKey?
    /// Seals contents to a recipient; nil: `chunks` does.
    private let contents: ContentKeys?

    private init(_ key: SymmetricKey, version: Int = 1, contents: ContentKeys? = nil) {
        func derive(_ purpose: String) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: key, info: Data("welkin backup \(version) \(purpose)".utf8), outputByteCount: 32)
        }
        names = derive("names")
        chunks = derive("chunks")
        manifests = derive("moments")
        changes = derive("changes")
        listNames = contents == nil ? nil : derive("list names")
        self.contents = contents
    }

    /// Creates the key of a backup that is sealed to a recipient.
    ///
    /// - Parameter privateKey: Opens contents; nil: they are only sealed.
    init(_ writing: WritingKey, opening privateKey: BackupPrivateKey?) {
        self.init(writing.key, version: 2, contents: ContentKeys(writing.recipient, privateKey))
    }

    /// Whether contents can be opened.
    var opensContents: Bool { contents?.canOpen ?? true }

    /// Forgets the key of contents that were sealed to a recipient.
    func forgetContentKey() { contents?.forget() }

    /// The bytes that sealing adds to a chunk.
    func sealBytes(_ kind: ChunkKind) -> Int {
        let nonceAndTag = 28
        return contents != nil && kind == .content ? SealedKey.byteCount + nonceAndTag : nonceAndTag
    }

    // MARK: Passphrases

    /// N of scrypt for new backups: 128 MiB of memory.
    static let usualCost = 1 << 17
    /// The largest N, r and p that are read: a header must not take all memory.
    private static let costMax = 1 << 21
    private static let blockSizeMax = 32
    private static let parallelismMax = 16

    /// Draws the key of a new backup.
    ///
    /// - Returns: The key, and its sealed form for the header.
    static func create(passphrase: String, cost: Int) throws -> (BackupKey, BackupHeader.Seal) {
        let salt = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
        let key = SymmetricKey(size: .bits256)
        let blockSize = 8
        let outer = try KDF.Scrypt.deriveKey(
            from: Data(passphrase.utf8), salt: salt, outputByteCount: 32, rounds: cost, blockSize: blockSize,
            parallelism: 1)
        let sealed = try AES.GCM.seal(
            key.withUnsafeBytes { Data($0) }, using: outer, authenticating: Data(keyPurpose.utf8))
        let seal = BackupHeader.Seal(
            salt: Data(salt).base64EncodedString(), cost: cost, blockSize: blockSize, parallelism: 1,
            key: (sealed.combined ?? Data()).base64EncodedString())
        return (BackupKey(key), seal)
    }

    /// Opens the key of a backup; nil: the passphrase is another one.
    ///
    /// - Throws: `damaged`, `newerFormat`.
    static func open(_ seal: BackupHeader.Seal, passphrase: String, path: String) throws(BackupError) -> BackupKey? {
        guard seal.kind == BackupHeader.Seal.scrypt else { throw .newerFormat(BackupHeader.formatMax + 1, path: path) }
        guard (2...costMax).contains(seal.cost), seal.cost.nonzeroBitCount == 1,
            (1...blockSizeMax).contains(seal.blockSize), (1...parallelismMax).contains(seal.parallelism),
            let salt = Data(base64Encoded: seal.salt), let held = Data(base64Encoded: seal.key),
            let box = try? AES.GCM.SealedBox(combined: held)
        else { throw .damaged(BackupHeader.fileName, "the form of the sealed key is not known") }
        do {
            let outer = try KDF.Scrypt.deriveKey(
                from: Data(passphrase.utf8), salt: salt, outputByteCount: 32, rounds: seal.cost,
                blockSize: seal.blockSize, parallelism: seal.parallelism)
            let key = try AES.GCM.open(box, using: outer, authenticating: Data(keyPurpose.utf8))
            return BackupKey(SymmetricKey(data: key))
        } catch {
            return nil
        }
    }

    private static let keyPurpose = "welkin backup 1 key"

    // MARK: Sealing

    /// Returns the name of a chunk; without the key it says nothing about the content.
    func id(of bytes: [UInt8], _ kind: ChunkKind) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: bytes, using: kind == .list ? listNames ?? names : names))
    }

    func seal(chunk bytes: [UInt8], _ id: ChunkID, _ kind: ChunkKind) throws -> [UInt8] {
        if let contents, kind == .content { return try contents.seal(bytes, id.bytes) }
        return try Self.seal(bytes, chunks, id.bytes)
    }

    /// nil: it is not what was sealed under this name.
    func open(chunk bytes: [UInt8], _ id: ChunkID, _ kind: ChunkKind) -> [UInt8]? {
        if let contents, kind == .content { return contents.open(bytes, id.bytes) }
        return Self.open(bytes, chunks, id.bytes)
    }

    /// Seals changes as contents are sealed.
    func seal(changes bytes: [UInt8], named name: String) throws -> [UInt8] {
        if let contents { return try contents.seal(bytes, Array(name.utf8)) }
        return try Self.seal(bytes, changes, Array(name.utf8))
    }

    /// nil: they are not what was sealed under this name.
    func open(changes bytes: [UInt8], named name: String) -> [UInt8]? {
        if let contents { return contents.open(bytes, Array(name.utf8)) }
        return Self.open(bytes, changes, Array(name.utf8))
    }

    func seal(manifest bytes: [UInt8], named name: String) throws -> [UInt8] {
        try Self.seal(bytes, manifests, Array(name.utf8))
    }

    /// nil: it is not what was sealed under this name.
    func open(manifest bytes: [UInt8], named name: String) -> [UInt8]? {
        Self.open(bytes, manifests, Array(name.utf8))
    }

    static func seal(_ bytes: [UInt8], _ key: SymmetricKey, _ context: [UInt8]) throws -> [UInt8] {
        // `combined` is nil for nonces of other sizes than the usual only.
        Array(try AES.GCM.seal(bytes, using: key, authenticating: context).combined ?? Data())
    }

    static func open(_ bytes: [UInt8], _ key: SymmetricKey, _ context: [UInt8]) -> [UInt8]? {
        guard let box = try? AES.GCM.SealedBox(combined: bytes),
            let opened = try? AES.GCM.open(box, using: key, authenticating: context)
        else { return nil }
        return Array(opened)
    }
}
