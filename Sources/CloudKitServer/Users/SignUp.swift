import CloudKitModel
import Synchronization

/// Lets people make accounts for themselves, where the operator allows it.
package final class SignUp: Sendable {
    package let isOpen: Bool
    private let accounts: Accounts
    private let surroundings: Surroundings
    private let roundsMin: Int
    private let throttle = Mutex(SignUpThrottle())

    package init(book: Book, surroundings: Surroundings, isOpen: Bool, roundsMin: Int = 600_000) {
        self.isOpen = isOpen
        self.surroundings = surroundings
        self.roundsMin = roundsMin
        accounts = Accounts(book: book, surroundings: surroundings)
    }

    /// Makes an account.
    ///
    /// Whether an address has an account already is told to whoever asks: nobody confirms addresses, so there is no other
    /// way to say it. Every attempt counts against the limit of its sender.
    ///
    /// - Parameters:
    ///   - name: At most 200 characters are kept.
    ///   - puzzle: Chosen by the device: 16 to 64 bytes of salt, at least this cloud's rounds.
    ///   - address: Where the request comes from.
    /// - Throws: `RequestFailure` `accessDenied` when sign-up is closed, `throttled`, `badRequest`, `recordExists`.
    package func create(
        email: String, name: String, proof: [UInt8], puzzle: PasswordPuzzle, address: String
    ) async throws -> Account {
        guard isOpen else { throw Self.closed }
        try Proof.check(proof)
        try puzzle.check(roundsMin: roundsMin)
        guard EmailAddress(email) != nil else { throw RequestFailure.malformedEmail }
        let now = surroundings.now()
        if let wait = throttle.withLock({ $0.enter(address: address, now: now) }) {
            throw RequestFailure(.throttled, "too many sign-ups", retryAfter: wait)
        }
        do {
            return try await accounts.add(email: email, name: String(name.prefix(200)), proof: proof, puzzle: puzzle)
        } catch AccountError.emailTaken {
            throw Self.taken
        }
    }

    private static let closed = RequestFailure(
        .accessDenied, "sign-up is closed", remedy: "Ask the operator of this cloud for an account.")
    private static let taken = RequestFailure(
        .recordExists, "there is an account for this address already", remedy: "Sign in, or use another address.")
}

/// Bounds how many accounts are made from one address, and in all.
struct SignUpThrottle {
    /// Milliseconds after which an attempt is forgotten.
    static let window: Int64 = 3_600_000
    static let addressAttemptsMax = 20
    static let attemptsMax = 1000

    /// Who tried and when, oldest first; never longer than `attemptsMax`.
    private var attempts: [(address: String, time: Int64)] = []

    /// Counts an attempt, or says how many seconds to wait for it.
    mutating func enter(address: String, now: Int64) -> Double? {
        attempts.removeAll { now - $0.time >= Self.window }
        let own = attempts.filter { $0.address == address }
        let waits = [
            own.count < Self.addressAttemptsMax ? nil : own.first?.time,
            attempts.count < Self.attemptsMax ? nil : attempts.first?.time,
        ].compactMap { $0 }.map { $0 + Self.window - now }
        if let wait = waits.max() { return Double(wait) / 1000 }
        attempts.append((address, now))
        return nil
    }
}
