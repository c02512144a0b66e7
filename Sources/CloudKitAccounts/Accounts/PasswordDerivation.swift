import CloudKitModel

/// The parameters with which a device derives its proof from a password.
package struct PasswordDerivation: Hashable, Sendable {
    /// Random bytes.
    package var salt: [UInt8]
    /// Rounds of PBKDF2.
    package var rounds: Int

    /// Creates a derivation from the salt and the number of rounds.
    package init(salt: [UInt8], rounds: Int) {
        self.salt = salt
        self.rounds = rounds
    }

    /// Checks a device's choices for a new password.
    ///
    /// - Parameter roundsMin: The rounds of this cloud's own accounts.
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
