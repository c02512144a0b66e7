import Crypto
import Foundation
import TextEncodings

/// The public key that a backup is sealed to.
package struct BackupRecipient: Hashable, Sendable, CustomStringConvertible {
    let bytes: [UInt8]

    private static let prefix = "welkin-backup-"
    private static let checkBytes = 4

    init(_ key: Curve25519.KeyAgreement.PublicKey) { bytes = Array(key.rawRepresentation) }

    /// Reads the text of a recipient.
    ///
    /// - Throws: `recipientUnusable` for any other text, and for one with a wrong letter.
    package init(_ text: String) throws(BackupError) {
        guard text.hasPrefix(Self.prefix), let held = Base64URL.decode(String(text.dropFirst(Self.prefix.count))),
            held.count == 32 + Self.checkBytes
        else { throw Self.unusable }
        bytes = Array(held.prefix(32))
        // The decoder accepts other forms of the same bytes.
        guard Self.check(bytes) == Array(held.suffix(Self.checkBytes)), description == text, (try? key) != nil else {
            throw Self.unusable
        }
    }

    private static let unusable = BackupError(
        .recipientUnusable, reason: "the text is not the recipient of a backup",
        remedy: "use the whole text that begins with welkin-backup-, as welkin backup key new printed it")

    /// The text, with a checksum.
    package var description: String { Self.prefix + Base64URL.encode(bytes + Self.check(bytes)) }

    var key: Curve25519.KeyAgreement.PublicKey {
        get throws { try Curve25519.KeyAgreement.PublicKey(rawRepresentation: bytes) }
    }

    private static func check(_ bytes: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: Array("welkin backup recipient 1".utf8) + bytes).prefix(checkBytes))
    }
}

/// The private key that opens backups which were sealed to its recipient.
package struct BackupPrivateKey: Sendable {
    let key: Curve25519.KeyAgreement.PrivateKey

    private static let prefix = "welkin-private-backup-key-"

    /// Draws a key.
    package init() { key = Curve25519.KeyAgreement.PrivateKey() }

    /// The text to which backups are sealed.
    package var recipient: BackupRecipient { BackupRecipient(key.publicKey) }

    /// Reads the key in a file.
    ///
    /// - Throws: `keyUnusable`, and the errors of the disk.
    package init(file path: String) throws(BackupError) {
        guard let bytes = try BackupDisk.read(path) else { throw Self.unusable(path, "there is no such file") }
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
        guard let line = lines.first(where: { $0.hasPrefix(Self.prefix) }),
            let held = Base64URL.decode(String(line.dropFirst(Self.prefix.count))),
            let key = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: held)
        else { throw Self.unusable(path, "it has no key") }
        self.key = key
    }

    private static func unusable(_ path: String, _ problem: String) -> BackupError {
        BackupError(
            .keyUnusable, reason: "the file is not the private key of a backup",
            remedy: "name the file that welkin backup key new made", details: ["path": path, "problem": problem])
    }

    /// Writes the key to a new file that only its owner may read: durable on return.
    ///
    /// - Throws: The errors of the disk, also if there is a file.
    package func write(to path: String) throws(BackupError) {
        let text = """
            # The private key of backups that are sealed to
            # \(recipient)
            # Whoever has it reads them; without it they are lost. Keep it apart from the machines that back up.
            \(Self.prefix)\(Base64URL.encode(Array(key.rawRepresentation)))

            """
        let descriptor = try BackupDisk.create(path)
        defer { close(descriptor) }
        try BackupDisk.write(Array(text.utf8), to: descriptor, path: path)
        try BackupDisk.synchronize(descriptor, path: path)
        try BackupDisk.synchronizeFolder(of: path)
    }
}
