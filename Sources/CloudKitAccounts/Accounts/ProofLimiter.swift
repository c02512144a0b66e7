import AsyncLocks
import CloudKitModel
import Crypto
import Synchronization

/// Counts the wrong proofs of all operations that require one, and makes their senders wait.
///
/// An attempt is reserved before its proof is checked. A failure is stored before it is answered, so that the counts survive a restart;
/// a success writes nothing unless it ends a count. Attempts at one account from one network address follow one another. Where several
/// nodes serve a store, the store counts (`SharedProofCount`).
package final class ProofLimiter: Sendable {
    /// The fewest rounds of a new password's proof; the answer for addresses without an account names them, too.
    package let roundsMin: Int
    private let throttle: Mutex<SignInThrottle>
    private let turns = KeyedAsyncMutex<String>()
    private let loading = AsyncMutex()
    private let isLoaded = Mutex(false)

    /// Creates a limiter for accounts of at least `roundsMin` rounds.
    package init(roundsMin: Int = 600_000) {
        self.roundsMin = roundsMin
        throttle = Mutex(SignInThrottle())
    }

    /// Runs a check unless there were too many wrong proofs; a refusal with `authenticationFailed` counts as one.
    ///
    /// - Parameters:
    ///   - email: Of the account, normalised.
    ///   - address: The network address that sends the request.
    ///   - now: Milliseconds since 1970.
    ///   - store: Keeps the counts.
    /// - Throws: `RequestFailure` `throttled`, and what `check` throws.
    func count<Value>(
        email: String, address: String, now: Int64, in store: AccountStore, _ check: () async throws -> Value
    ) async throws -> Value {
        let email = Self.digest(email, in: store)
        let address = Self.digest(NetworkPrefix.text(of: address), in: store)
        if store.isShared {
            return try await SharedProofCount(store: store, email: email, address: address, now: now).count(check)
        }
        try await load(from: store, now: now)
        return try await turns.withLock(email + address) {
            if let wait = throttle.withLock({ $0.begin(email: email, address: address, now: now) }) {
                throw RequestFailure(.throttled, "too many failed sign-ins", retryAfter: wait)
            }
            do {
                let value = try await check()
                let endsCount = throttle.withLock { $0.succeeded(email: email, address: address) }
                // A count that stays stored does no harm; the success must not be taken back for it.
                if endsCount { try? await save(SignInThrottle.keys(email, address).prefix(1), in: store) }
                return value
            } catch let failure as RequestFailure where failure.code == .authenticationFailed {
                throttle.withLock { $0.failed(email: email, address: address, now: now) }
                try await save(SignInThrottle.keys(email, address)[...], in: store)
                throw failure
            } catch {
                throttle.withLock { $0.abandoned(email: email, address: address) }
                throw error
            }
        }
    }

    /// Runs a check that returns nil for a secret that is not known, which counts as a wrong proof.
    ///
    /// - Parameters:
    ///   - email: A name for the secret, other than those of accounts.
    ///   - address: The network address that sends the request.
    ///   - now: Milliseconds since 1970.
    ///   - store: Keeps the counts.
    /// - Throws: `RequestFailure` `throttled`, and what `check` throws.
    func unlessWrong<Value>(
        email: String, address: String, now: Int64, in store: AccountStore, _ check: () async throws -> Value?
    ) async throws -> Value? {
        do {
            return try await count(email: email, address: address, now: now, in: store) {
                guard let value = try await check() else { throw RequestFailure.wrongSecret }
                return value
            }
        } catch let failure as RequestFailure where failure == .wrongSecret {
            return nil
        }
    }

    /// Reads the stored counts, once.
    private func load(from store: AccountStore, now: Int64) async throws {
        if isLoaded.withLock({ $0 }) { return }
        try await loading.withLock {
            if isLoaded.withLock({ $0 }) { return }
            for kind in SignInThrottle.Kind.allCases {
                let rows = try await ProofFailures.table.rows(of: kind.rawValue, in: store)
                throttle.withLock { throttle in
                    for (id, row) in rows {
                        throttle.load(SignInThrottle.Key(kind: kind, id: id), times: row.times, now: now)
                    }
                }
            }
            isLoaded.withLock { $0 = true }
        }
    }

    /// Stores these counts as they are when the transaction runs, and removes forgotten ones.
    private func save(_ keys: ArraySlice<SignInThrottle.Key>, in store: AccountStore) async throws {
        let forgotten = throttle.withLock { $0.takeForgotten() }
        try await store.write { transaction in
            for key in keys + forgotten {
                let times = throttle.withLock { $0.times(of: key) }
                if times.isEmpty {
                    ProofFailures.table.clear(key.rowKey, in: &transaction)
                } else {
                    try ProofFailures.table.set(key.rowKey, to: ProofFailures(times: times), in: &transaction)
                }
            }
        }
    }

    /// Returns a keyed hash, so that the store names no addresses of strangers.
    private static func digest(_ text: String, in store: AccountStore) -> String {
        let key = SymmetricKey(data: store.serverEnvironment.secret)
        return HMAC<SHA256>.authenticationCode(for: Array("proof failures:\(text)".utf8), using: key).prefix(16).hex
    }
}
