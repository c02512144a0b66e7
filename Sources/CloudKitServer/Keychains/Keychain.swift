import CloudKitModel

/// What the cloud keeps of an account's keys: wrapped forms that it cannot open, and the public identity.
///
/// Every part is opaque here; `docs/encryption.md` says what devices put into them.
package struct Keychain: BookRow, Codable, Hashable, Sendable {
    /// As the account's `keychainGeneration`; changes when the keys do.
    package internal(set) var generation: Int
    /// The account secret, wrapped by a key from the password.
    package internal(set) var passwordWrap: [UInt8]
    /// The account secret, wrapped by a key from the recovery words.
    package internal(set) var recoveryWrap: [UInt8]
    /// What others address keys to.
    package internal(set) var identity: [UInt8]
    var recovery: ProofHash

    init(_ offer: KeychainOffer, generation: Int, recoverySalt: [UInt8]) {
        self.generation = generation
        passwordWrap = offer.passwordWrap
        recoveryWrap = offer.recovery.wrap
        identity = offer.identity
        recovery = ProofHash(offer.recovery.proof, salt: recoverySalt)
    }
}

/// A keychain as a device makes it.
package struct KeychainOffer: Hashable, Sendable {
    package var passwordWrap: [UInt8]
    package var recovery: RecoveryOffer
    package var identity: [UInt8]

    package init(passwordWrap: [UInt8], recovery: RecoveryOffer, identity: [UInt8]) {
        self.passwordWrap = passwordWrap
        self.recovery = recovery
        self.identity = identity
    }

    /// - Throws: `badRequest` for parts that are empty or too long.
    func check() throws(RequestFailure) {
        try KeychainBounds.check(wrap: passwordWrap)
        try recovery.check()
        guard (1...KeychainBounds.identityBytesMax).contains(identity.count) else {
            throw RequestFailure(.badRequest, "bad public identity")
        }
    }
}

/// What goes with recovery words: the wrapped secret, and the proof of which the cloud keeps a hash.
package struct RecoveryOffer: Hashable, Sendable {
    package var wrap: [UInt8]
    package var proof: [UInt8]

    package init(wrap: [UInt8], proof: [UInt8]) {
        self.wrap = wrap
        self.proof = proof
    }

    func check() throws(RequestFailure) {
        try KeychainBounds.check(wrap: wrap)
        try Proof.check(proof)
    }
}

/// How large the parts of a keychain may be; the real ones are far smaller.
enum KeychainBounds {
    static let wrapBytesMax = 1024
    static let identityBytesMax = 2048

    static func check(wrap: [UInt8]) throws(RequestFailure) {
        guard (1...wrapBytesMax).contains(wrap.count) else {
            throw RequestFailure(.badRequest, "bad wrapped secret", remedy: "It has 1 to \(wrapBytesMax) bytes.")
        }
    }
}

/// How the keys a caller's device holds relate to the account's keychain.
package enum KeychainStanding: Hashable, Sendable {
    case current
    /// The keychain was reset since the device signed in (B-TM-12).
    case outdated
    /// The keychain was reset just now, and the zones it sealed are being marked.
    case resetting

    /// - Throws: What private and shared databases answer (B-ACC-02).
    package func check() throws(RequestFailure) {
        switch self {
        case .current: break
        case .outdated: throw .keychainOutdated
        case .resetting:
            throw RequestFailure(
                .tryAgainLater, "the account's keys are being reset", remedy: "Try again.", retryAfter: 1)
        }
    }
}

extension RequestFailure {
    static let keychainOutdated = RequestFailure(
        .accountTemporarilyUnavailable, "the account's keys were reset since this device signed in",
        remedy: "Sign in again.")
    static let keychainConflict = RequestFailure(
        .conflict, "another device changed the keychain meanwhile", remedy: "Sign in again.")
    static let keychainMissing = RequestFailure(
        .itemNotFound, "the account has no keychain", remedy: "Sign a device in; the first one makes it.")
    static let accountDisabled = RequestFailure(
        .accountRestricted, "this account is disabled", remedy: "Ask the operator of this cloud.")
}
