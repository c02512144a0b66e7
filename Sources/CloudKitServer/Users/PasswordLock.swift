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

    private static func hash(_ proof: [UInt8], _ salt: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: salt + proof))
    }
}

/// What a device needs to derive its proof.
package struct PasswordPuzzle: Hashable, Sendable {
    package var salt: [UInt8]
    package var rounds: Int

    package init(salt: [UInt8], rounds: Int) {
        self.salt = salt
        self.rounds = rounds
    }
}
