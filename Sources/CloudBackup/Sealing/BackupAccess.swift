/// What seals a new backup and opens one.
package struct BackupAccess: Sendable {
    /// Seals a new backup, and opens one that was sealed with it.
    package var passphrase: String?
    /// N of scrypt for a new backup; nil for the usual one.
    package var cost: Int?
    /// Seals a new backup; of one that was begun it must be the recipient.
    package var recipient: BackupRecipient?
    /// Opens all of a backup that is sealed to its recipient.
    package var privateKey: BackupPrivateKey?
    /// The folder with the writing keys of this machine, of mode 0700; nil: there are none.
    package var writingKeys: String?

    /// Creates a value with the given properties.
    package init(
        passphrase: String? = nil, cost: Int? = nil, recipient: BackupRecipient? = nil,
        privateKey: BackupPrivateKey? = nil, writingKeys: String? = nil
    ) {
        self.passphrase = passphrase
        self.cost = cost
        self.recipient = recipient
        self.privateKey = privateKey
        self.writingKeys = writingKeys
    }
}
