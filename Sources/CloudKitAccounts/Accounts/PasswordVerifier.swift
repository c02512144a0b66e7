import Crypto

/// The stored form of a password: the way in which a device derives its proof from it, and a hash of that proof.
package struct PasswordVerifier: Codable, Hashable, Sendable {
    /// Goes to every device that wants to sign in.
    package var salt: [UInt8]
    /// Rounds of the derivation.
    package var rounds: Int
    private var verifierSalt: [UInt8]
    private var verifier: [UInt8]

    /// - Parameter proof: Derived with `salt` and `rounds`; 32 bytes of full entropy for a guesser who has only this
    ///   verifier and pays `rounds` a guess.
    package init(proof: [UInt8], salt: [UInt8], rounds: Int, verifierSalt: [UInt8]) {
        self.salt = salt
        self.rounds = rounds
        self.verifierSalt = verifierSalt
        self.verifier = ProofHash.digest(proof, salt: verifierSalt)
    }

    /// Returns whether a proof is the password's, in constant time.
    package func matches(_ proof: [UInt8]) -> Bool {
        isEqualInConstantTime(ProofHash.digest(proof, salt: verifierSalt), verifier)
    }
}
