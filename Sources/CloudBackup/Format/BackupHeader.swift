/// The file that makes a folder a backup: its format, and how it is sealed.
struct BackupHeader: Hashable, Sendable, Codable {
    var format = formatMax
    /// nil: the chunks are not sealed.
    var seal: Seal?

    /// The version that is written; later ones are not read.
    static let formatMax = 1
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
}
