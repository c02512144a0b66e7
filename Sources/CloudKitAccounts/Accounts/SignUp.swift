import CloudKitModel
import CloudKitRecordLayer
import Synchronization

/// Creates accounts for new users, where the operator allows it, and for those whom the operator has invited.
package final class SignUp: Sendable {
    /// Whether the operator allows sign-up without an invitation.
    package let isOpen: Bool
    let store: AccountStore
    let roundsMin: Int
    private let proofLimiter: ProofLimiter
    private let throttle: Mutex<SignUpThrottle>
    private let hourMax: Int

    /// Accounts that people make for themselves in an hour, unless the operator says otherwise.
    package static let hourMaxDefault = 1000

    /// - Parameters:
    ///   - hourMax: Accounts that are made without an invitation in an hour, at most.
    ///   - roundsMin: The fewest rounds of a new password's derivation.
    ///   - proofLimiter: The one count of wrong proofs, which wrong codes of invitations belong to.
    package init(
        store: AccountStore, isOpen: Bool, hourMax: Int = SignUp.hourMaxDefault, roundsMin: Int = 600_000,
        proofLimiter: ProofLimiter = ProofLimiter()
    ) {
        self.hourMax = hourMax
        throttle = Mutex(SignUpThrottle(attemptsMax: hourMax))
        self.store = store
        self.isOpen = isOpen
        self.roundsMin = roundsMin
        self.proofLimiter = proofLimiter
    }

    /// Creates an account.
    ///
    /// The answer shows whether an address has an account already: addresses are not confirmed by mail, so there is no
    /// other way to report it. Every attempt without an invitation counts against the limit of its sender. A use of an invitation is
    /// counted in the transaction that makes the account.
    ///
    /// - Parameters:
    ///   - name: At most 200 characters are kept.
    ///   - derivation: Chosen by the device: 16 to 64 bytes of salt, at least this cloud's rounds.
    ///   - address: The network address that sends the request.
    ///   - invitation: The code of an invitation, required where sign-up is closed.
    /// - Throws: `RequestFailure` `accessDenied` when sign-up is closed, and for an invitation that does not make this account;
    ///   `throttled`, `badRequest`, `recordExists`.
    package func create(
        email: String, name: String, proof: [UInt8], derivation: PasswordDerivation, address: String,
        invitation: String? = nil
    ) async throws -> Account {
        try ProofBounds.check(proof)
        try derivation.check(roundsMin: roundsMin)
        guard let emailAddress = EmailAddress(email) else { throw RequestFailure.malformedEmail }
        let account = store.accounts.newAccount(
            emailAddress, name: String(name.prefix(200)), proof: proof, derivation: derivation)
        return try await add(account, emailAddress, address: address, invitation: invitation)
    }

    /// Adds what belongs to an account in the transaction that makes it.
    typealias Addition = @Sendable (inout StorageWriter, Account) async throws -> Void

    /// Adds an account, where sign-up is open or with an invitation.
    func add(
        _ account: Account, _ email: EmailAddress, address: String, invitation: String?,
        with addition: @escaping Addition = { _, _ in }
    ) async throws -> Account {
        guard isOpen || invitation != nil else { throw Self.closed }
        let now = store.serverEnvironment.now()
        do {
            if let invitation {
                return try await create(
                    account, email, code: invitation, from: address, now: now, with: addition)
            }
            if let wait = try await enter(from: address, now: now) {
                throw RequestFailure(.throttled, "too many sign-ups", retryAfter: wait)
            }
            try await store.write { transaction in
                try await transaction.add(account)
                try await addition(&transaction, account)
            }
            return account
        } catch AccountError.emailTaken {
            throw Self.taken
        }
    }

    /// Makes an account with an invitation. Unknown codes are counted as wrong proofs are, by their sender: no number of wrong ones keeps
    /// other senders from using theirs.
    private func create(
        _ account: Account, _ email: EmailAddress, code: String, from address: String, now: Int64,
        with addition: @escaping Addition
    ) async throws -> Account {
        guard let hash = AccountInvitation.hash(of: code) else { throw RequestFailure.invitationInvalid }
        let made: Account? = try await proofLimiter.unlessWrong(
            email: "invitation \(hash)", address: address, now: now, in: store
        ) {
            try await store.write { transaction in
                guard let invitation = try await AccountInvitation.table.row(hash, in: transaction) else { return nil }
                let used = try invitation.used(for: email, now: now)
                let account = used.applied(to: account)
                try await transaction.add(account)
                try await addition(&transaction, account)
                try AccountInvitation.table.set(hash, to: used, in: &transaction)
                return account
            }
        }
        guard let made else { throw RequestFailure.invitationInvalid }
        return made
    }

    /// Counts an attempt, or returns how many seconds to wait for it. Where several nodes serve a store, the store counts.
    private func enter(from address: String, now: Int64) async throws -> Double? {
        guard store.isShared else { return throttle.withLock { $0.enter(address: address, now: now) } }
        return try await store.write { transaction in
            let held = try await SignUpAttempts.table.row(SignUpAttempts.key, in: transaction)
            var throttle = SignUpThrottle(attempts: held?.attempts ?? [], attemptsMax: hourMax)
            if let wait = throttle.enter(address: address, now: now) { return wait }
            try SignUpAttempts.table.set(
                SignUpAttempts.key, to: SignUpAttempts(attempts: throttle.attempts), in: &transaction)
            return nil
        }
    }

    private static let closed = RequestFailure(
        .accessDenied, "sign-up is closed",
        remedy: "Ask the operator of this cloud for an invitation, and sign up with: welkin sign-up --invitation LINK")
    private static let taken = RequestFailure(
        .recordExists, "there is an account for this address already", remedy: "Sign in, or use another address.")
}

/// A limit on the accounts that are made from one network address, and in all.
struct SignUpThrottle {
    /// Milliseconds after which an attempt is forgotten.
    static let window: Int64 = 3_600_000
    static let addressAttemptsMax = 20

    /// An attempt. The names of the properties are stored: they never change.
    struct Attempt: Codable, Hashable {
        var address: String
        /// Milliseconds since 1970.
        var time: Int64
    }

    /// Attempts of an hour.
    var attemptsMax: Int
    /// In the order of time; those before `firstKept` are forgotten.
    private var all: [Attempt] = []
    private var firstKept = 0
    /// The attempts of each sender that are not forgotten.
    private var counts: [String: Int] = [:]

    /// - Parameter attempts: Those so far, oldest first.
    init(attempts: [Attempt] = [], attemptsMax: Int) {
        self.attemptsMax = attemptsMax
        all = attempts
        for attempt in attempts { counts[attempt.address, default: 0] += 1 }
    }

    /// The senders and times of attempts, oldest first; at most `attemptsMax`.
    var attempts: [Attempt] { Array(kept) }

    private var kept: ArraySlice<Attempt> { all[firstKept...] }

    /// Counts an attempt, or returns how many seconds to wait for it.
    mutating func enter(address: String, now: Int64) -> Double? {
        forget(at: now)
        let times = [
            counts[address, default: 0] < Self.addressAttemptsMax ? nil : kept.first { $0.address == address }?.time,
            kept.count < attemptsMax ? nil : kept.first?.time,
        ].compactMap { $0 }
        if let last = times.max() { return Double(last + Self.window - now) / 1000 }
        all.append(Attempt(address: address, time: now))
        counts[address, default: 0] += 1
        return nil
    }

    private mutating func forget(at now: Int64) {
        while let attempt = kept.first, now - attempt.time >= Self.window {
            firstKept += 1
            counts[attempt.address, default: 1] -= 1
            if counts[attempt.address] == 0 { counts[attempt.address] = nil }
        }
        // Seldom, so that each attempt is moved about once.
        if firstKept > all.count / 2 {
            all.removeFirst(firstKept)
            firstKept = 0
        }
    }
}

/// The attempts of the last hour, in one row, where several nodes serve one store. The names of the properties are stored: they never change.
struct SignUpAttempts: StoredRow {
    var attempts: [SignUpThrottle.Attempt]

    static let table = RowTable<String, SignUpAttempts>("sign-up-attempts")
    static let key = "all"
}
