/// The file that makes a folder a backup: its format, and how it is sealed.
struct BackupHeader: Hashable, Sendable, Codable {
    var format = 1
    /// nil: the chunks are not sealed with a passphrase.
    var seal: Seal?
    /// nil: the chunks are not sealed to a recipient; format 2.
    var recipient: RecipientSeal?

    /// The newest version that is read.
    static let formatMax = 2
    /// The version of backups that are sealed to a recipient.
    static let recipientFormat = 2
    /// The name of the file.
    static let fileName = "welkin-backup.json"

    /// The key of the backup, sealed with one that scrypt derives from the passphrase.
    struct Seal: Hashable, Sendable, Codable {
        var kind = Self.scrypt
        /// Base64.
        var salt: String
        /// N of scrypt, a power of two.
        var cost: Int
        /// r of scrypt.
        var blockSize: Int
        /// p of scrypt.
        var parallelism: Int
        /// Base64: nonce, sealed key, tag.
        var key: String

        static let scrypt = "scrypt+aes-256-gcm"
    }

    /// The writing key of the backup, sealed to its recipient.
    struct RecipientSeal: Hashable, Sendable, Codable {
        var kind = Self.hpke
        /// The text of the recipient.
        var recipient: String
        /// Base64: 32 bytes encapsulated, 48 sealed.
        var key: String

        static let hpke = "hpke-x25519-sha256-aes-256-gcm"
    }
}
