import CloudKitModel
import Synchronization

/// Stands before everything that opens with a proof: counts the wrong ones and makes guessers wait.
package final class ProofGuard: Sendable {
    /// The fewest rounds that a new password's proof may take; what strangers' addresses are told as well.
    package let roundsMin: Int
    private let throttle = Mutex(SignInThrottle())

    package init(roundsMin: Int = 600_000) { self.roundsMin = roundsMin }

    /// Runs a check unless there were too many wrong ones; what it refuses with `authenticationFailed` counts.
    ///
    /// - Parameters:
    ///   - email: Of the account, normalised.
    ///   - address: Where the request comes from.
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
