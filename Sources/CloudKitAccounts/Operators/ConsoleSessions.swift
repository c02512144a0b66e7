import CloudKitModel
import CloudKitRecordLayer
import Crypto

/// Signs operators in to the Console and out, and knows who is signed in.
package struct ConsoleSessions: Sendable {
    private let store: AccountStore
    private let limiter: ProofLimiter

    /// - Parameter limiter: The one count of wrong proofs.
    package init(store: AccountStore, limiter: ProofLimiter) {
        self.store = store
        self.limiter = limiter
    }

    /// Returns whether there is anyone who could sign in: an operator's token in use, or an account with the role.
    package func isOn() async throws -> Bool {
        try await store.read { view in
            if try await OperatorToken.table.rows(in: view).contains(where: { !$0.isRevoked }) { return true }
            return try await !OperatorAccount.table.rows(in: view).isEmpty
        }
    }

    /// Opens a session with an operator's token.
    ///
    /// - Parameters:
    ///   - shown: The token.
    ///   - address: The network address that sends the request, to slow down guessing.
    /// - Returns: The cookie, which cannot be read again.
    /// - Throws: `authenticationFailed`, `throttled`.
    package func open(token shown: String, address: String) async throws -> String {
        let hash = APIToken.hash(of: shown)
        // Counted by network address, and by the token that is shown: no one can lock operators out by showing wrong ones.
        let row = try await limiter.count(
            email: "operator token \(hash)", address: address, now: store.serverEnvironment.now(), in: store
        ) {
            guard case .good(let row) = try await store.operatorTokens.standing(of: shown) else {
                throw Self.wrongToken
            }
            return row
        }
        return try await open { ConsoleSession(hash: $0, token: row.hash, account: nil, created: $1, used: $1) }
    }

    /// Opens a session with the proof of the password of an account that has an operator's role.
    ///
    /// - Parameter address: The network address that sends the request, to slow down guessing.
    /// - Returns: The cookie, which cannot be read again.
    /// - Throws: `authenticationFailed`, the same for a wrong password and an account without the role; `throttled`.
    package func open(email: String, proof: [UInt8], address: String) async throws -> String {
        guard let emailAddress = EmailAddress(email) else { throw RequestFailure.malformedEmail }
        let account = try await limiter.count(
            email: emailAddress.normalised, address: address, now: store.serverEnvironment.now(), in: store
        ) {
            try await store.read { view in
                guard let account = try await view.account(emailAddress), account.password.matches(proof),
                    !account.isDisabled, try await OperatorAccount.table.row(account.id, in: view) != nil
                else { throw Self.wrongPassword }
                return account
            }
        }
        return try await open { ConsoleSession(hash: $0, token: nil, account: account.id, created: $1, used: $1) }
    }

    /// Returns the session of a cookie and its operator; nil for an unknown cookie, one that is over, or an operator who may no longer
    /// sign in.
    package func current(_ cookie: String?) async throws -> (session: ConsoleSession, operator: ConsoleOperator)? {
        guard let cookie, cookie.utf8.count == 64 else { return nil }
        let hash = APIToken.hash(of: cookie)
        let now = store.serverEnvironment.now()
        let found = try await store.read {
            view -> (session: ConsoleSession, operator: ConsoleOperator)? in
            guard let session = try await ConsoleSession.table.row(hash, in: view), !session.isOver(at: now) else {
                return nil
            }
            if let hash = session.token {
                guard let token = try await OperatorToken.table.row(hash, in: view), !token.isRevoked else {
                    return nil
                }
                return (session, ConsoleOperator(token))
            }
            guard let id = session.account, let account = try await Account.table.row(id, in: view),
                !account.isDisabled, let role = try await OperatorAccount.table.row(id, in: view)
            else { return nil }
            return (session, ConsoleOperator(account, role))
        }
        if let session = found?.session, now - session.used >= ConsoleSession.noteInterval {
            try await store.write { transaction in
                // It may have been ended meanwhile, and consents may have been shown in it.
                guard var held = try await ConsoleSession.table.row(hash, in: transaction) else { return }
                held.used = max(held.used, now)
                try ConsoleSession.table.set(hash, to: held, in: &transaction)
            }
        }
        return found
    }

    /// Ends the session of a cookie.
    package func end(_ cookie: String) async throws {
        let hash = APIToken.hash(of: cookie)
        try await store.write { ConsoleSession.table.clear(hash, in: &$0) }
    }

    /// Returns the token that the forms of a session's pages send back.
    package func formToken(of session: ConsoleSession) -> String {
        let key = SymmetricKey(data: store.serverEnvironment.secret)
        return HMAC<SHA256>.authenticationCode(for: Array("console form:\(session.hash)".utf8), using: key).hex
    }

    /// Returns whether a form was sent from a page of the session.
    package func isFormToken(_ shown: String, of session: ConsoleSession) -> Bool {
        isEqualInConstantTime(Array(shown.utf8), Array(formToken(of: session).utf8))
    }

    /// Stores a session, removes those that are over, and returns the cookie.
    private func open(_ make: (_ hash: String, _ now: Int64) -> ConsoleSession) async throws -> String {
        let cookie = store.serverEnvironment.randomHex(bytes: 32)
        let now = store.serverEnvironment.now()
        let session = make(APIToken.hash(of: cookie), now)
        try await store.write { transaction in
            var held = try await ConsoleSession.table.rows(in: transaction)
            for old in held where old.isOver(at: now) { ConsoleSession.table.clear(old.hash, in: &transaction) }
            held.removeAll { $0.isOver(at: now) }
            if held.count >= ConsoleSession.sessionsMax, let oldest = held.min(by: { $0.used < $1.used }) {
                ConsoleSession.table.clear(oldest.hash, in: &transaction)
            }
            try ConsoleSession.table.set(session.hash, to: session, in: &transaction)
        }
        return cookie
    }

    private static let wrongToken = RequestFailure(
        .authenticationFailed, "wrong operator's token", remedy: "Make one with: welkin admin token create")
    private static let wrongPassword = RequestFailure(
        .authenticationFailed, "wrong e-mail address or password, or no operator's account",
        remedy: "Give the role with: welkin account operator EMAIL on")
}
