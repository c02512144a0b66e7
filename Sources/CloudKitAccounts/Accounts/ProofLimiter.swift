import CloudKitModel
import Synchronization

/// Counts the wrong proofs of all operations that require one, and makes their senders wait.
package final class ProofLimiter: Sendable {
    /// The fewest rounds of a new password's proof; the answer for addresses without an account names them, too.
    package let roundsMin: Int
    private let throttle = Mutex(SignInThrottle())

    /// Creates a limiter for accounts of at least `roundsMin` rounds.
    package init(roundsMin: Int = 600_000) { self.roundsMin = roundsMin }

    /// Runs a check unless there were too many wrong proofs; a refusal with `authenticationFailed` counts as one.
    ///
    /// - Parameters:
    ///   - email: Of the account, normalised.
    ///   - address: The network address that sends the request.
    ///   - now: Milliseconds since 1970.
    /// - Throws: `RequestFailure` `throttled`, and what `check` throws.
    func count<Value>(
        email: String, address: String, now: Int64, _ check: () async throws -> Value
    ) async throws -> Value {
        if let wait = throttle.withLock({ $0.wait(email: email, address: address, now: now) }) {
            throw RequestFailure(.throttled, "too many failed sign-ins", retryAfter: wait)
        }
        do {
            let value = try await check()
            throttle.withLock { $0.succeeded(email: email, address: address) }
            return value
        } catch let failure as RequestFailure where failure.code == .authenticationFailed {
            throttle.withLock { $0.failed(email: email, address: address, now: now) }
            throw failure
        }
    }
}
