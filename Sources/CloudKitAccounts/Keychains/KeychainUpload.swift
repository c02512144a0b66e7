import CloudKitModel

/// A keychain as a device makes it.
package struct KeychainUpload: Hashable, Sendable {
    /// The account secret, wrapped by a key from the password; empty for an account without one.
    package var passwordWrap: [UInt8]
    /// The account secret, wrapped for recovery.
    package var recovery: RecoveryUpload
    /// The public half of the account's keys.
    package var identity: [UInt8]

    /// Creates an upload from its parts; they are not checked.
    package init(passwordWrap: [UInt8], recovery: RecoveryUpload, identity: [UInt8]) {
        self.passwordWrap = passwordWrap
        self.recovery = recovery
        self.identity = identity
    }

    /// - Throws: `badRequest` for the missing wrap of an account with a password.
    func check(for account: Account) throws(RequestFailure) {
        if account.hasPassword { try KeychainBounds.check(wrap: passwordWrap) }
    }

    /// - Throws: `badRequest` for parts that are empty or too long.
    func check() throws(RequestFailure) {
        if !passwordWrap.isEmpty { try KeychainBounds.check(wrap: passwordWrap) }
        try recovery.check()
        guard (1...KeychainBounds.identityBytesMax).contains(identity.count) else {
            throw RequestFailure(.badRequest, "bad public identity")
        }
    }
}

/// The part of a keychain that recovery words open: the wrapped secret, and the proof of which the cloud keeps a hash.
package struct RecoveryUpload: Hashable, Sendable {
    /// The account secret, wrapped by a key from the recovery words.
    package var wrap: [UInt8]
    /// Derived from the recovery words.
    package var proof: [UInt8]

    /// Creates an upload from its parts; they are not checked.
    package init(wrap: [UInt8], proof: [UInt8]) {
        self.wrap = wrap
        self.proof = proof
    }

    func check() throws(RequestFailure) {
        try KeychainBounds.check(wrap: wrap)
        try ProofBounds.check(proof)
    }
}

/// A password about to be set: its derivation, the proof, and the account secret wrapped with it.
package struct NewPassword: Hashable, Sendable {
    /// Derived from the password.
    package var proof: [UInt8]
    /// The parameters of the derivation.
    package var derivation: PasswordDerivation
    /// nil: the account has no keychain.
    package var wrap: [UInt8]?

    /// Creates an upload from its parts; they are not checked.
    package init(proof: [UInt8], derivation: PasswordDerivation, wrap: [UInt8]?) {
        self.proof = proof
        self.derivation = derivation
        self.wrap = wrap
    }

    func check(roundsMin: Int) throws(RequestFailure) {
        try ProofBounds.check(proof)
        try derivation.check(roundsMin: roundsMin)
        if let wrap { try KeychainBounds.check(wrap: wrap) }
    }
}

/// The largest sizes of a keychain's parts; the real ones are far smaller.
enum KeychainBounds {
    static let wrapBytesMax = 1024
    static let identityBytesMax = 2048

    static func check(wrap: [UInt8]) throws(RequestFailure) {
        guard (1...wrapBytesMax).contains(wrap.count) else {
            throw RequestFailure(.badRequest, "bad wrapped secret", remedy: "It has 1 to \(wrapBytesMax) bytes.")
        }
    }
}
