import CloudKitModel
import Crypto

/// What the cloud keeps of a password: how a device derives its proof from it, and a hash of that proof.
package struct PasswordLock: Codable, Hashable, Sendable {
    /// Goes to whoever wants to sign in.
    package var salt: [UInt8]
    package var rounds: Int
    private var verifierSalt: [UInt8]
    private var verifier: [UInt8]

    /// - Parameter proof: Derived with `salt` and `rounds`; 32 bytes of full entropy for a guesser who has only this
    ///   lock and pays `rounds` a guess.
    package init(proof: [UInt8], salt: [UInt8], rounds: Int, verifierSalt: [UInt8]) {
        self.salt = salt
        self.rounds = rounds
        self.verifierSalt = verifierSalt
        self.verifier = Self.hash(proof, verifierSalt)
    }

    package func opens(with proof: [UInt8]) -> Bool {
        isEqualInConstantTime(Self.hash(proof, verifierSalt), verifier)
    }

    fileprivate static func hash(_ proof: [UInt8], _ salt: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: salt + proof))
    }
}

/// A salted hash of a proof that comes from a secret of full entropy.
struct ProofHash: Codable, Hashable, Sendable {
    private var salt: [UInt8]
    private var hash: [UInt8]

    init(_ proof: [UInt8], salt: [UInt8]) {
        self.salt = salt
        hash = PasswordLock.hash(proof, salt)
    }

    func opens(with proof: [UInt8]) -> Bool { isEqualInConstantTime(PasswordLock.hash(proof, salt), hash) }
}

/// What a device needs to derive its proof.
package struct PasswordPuzzle: Hashable, Sendable {
    package var salt: [UInt8]
    package var rounds: Int

    package init(salt: [UInt8], rounds: Int) {
        self.salt = salt
        self.rounds = rounds
    }

    /// Lets pass what a device may choose for a new password.
    ///
    /// - Parameter roundsMin: What this cloud's own accounts have.
    /// - Throws: `badRequest`.
    func check(roundsMin: Int) throws(RequestFailure) {
        guard (16...64).contains(salt.count), (roundsMin...max(roundsMin, Self.roundsMax)).contains(rounds) else {
            throw RequestFailure(
                .badRequest, "bad salt or rounds for a password",
                remedy: "Use 16 to 64 random bytes and \(roundsMin) to \(Self.roundsMax) rounds.")
        }
    }

    /// The most that devices are willing to work.
    private static let roundsMax = 10_000_000
}

/// The size of everything that is called a proof.
enum Proof {
    static let bytes = 32

    /// - Throws: `badRequest` for what no device derives.
    static func check(_ proof: [UInt8]) throws(RequestFailure) {
        guard proof.count == bytes else { throw RequestFailure(.badRequest, "a proof has 32 bytes") }
    }
}
