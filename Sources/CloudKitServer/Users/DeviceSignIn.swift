import CloudKitModel
import CloudKitRecordLayer
import Crypto

/// Lets people sign their devices and browsers in and out.
package final class DeviceSignIn: Sendable {
    private let book: Book
    private let surroundings: Surroundings
    private let accounts: Accounts
    private let names: UserNames
    private let tokens: WebAuthTokens
    private let guesses: ProofGuard

    package init(book: Book, surroundings: Surroundings, guesses: ProofGuard = ProofGuard()) {
        self.book = book
        self.surroundings = surroundings
        self.accounts = Accounts(book: book, surroundings: surroundings)
        self.names = UserNames(book: book, surroundings: surroundings)
        self.tokens = WebAuthTokens(surroundings: surroundings)
        self.guesses = guesses
    }

    /// Where a session is opened, by an app that showed this API token.
    package struct Place: Sendable {
        package var container: ContainerID
        package var environment: Environment
        package var apiToken: APIToken

        package init(container: ContainerID, environment: Environment, apiToken: APIToken) {
            self.container = container
            self.environment = environment
            self.apiToken = apiToken
        }
    }

    /// What a successful sign-in gives.
    package struct Grant: Hashable, Sendable {
        package var webAuthToken: String
        package var user: UserID
        package var deviceID: String
        /// Only with a new session of a device.
        package var deviceSecret: [UInt8]?
        /// Milliseconds since 1970.
        package var expires: Int64
        /// Only with a new session of a device; nil when the account has none, so that this device makes it.
        package var keychain: Keychain?
    }

    /// How to derive the proof for an address. A stranger's answer looks like an account's and stays the same.
    package func prepare(email: String) async throws -> PasswordPuzzle {
        guard let address = EmailAddress(email) else { throw RequestFailure.malformedEmail }
        if let account = try await accounts.account(email: address.normalised) {
            return PasswordPuzzle(salt: account.lock.salt, rounds: account.lock.rounds)
        }
        let key = SymmetricKey(data: surroundings.secret)
        let salt = HMAC<SHA256>.authenticationCode(for: Array("salt:\(address.normalised)".utf8), using: key)
        return PasswordPuzzle(salt: Array(salt.prefix(16)), rounds: guesses.roundsMin)
    }

    /// Opens a session with the proof of a password.
    ///
    /// - Parameter address: From where, to slow down guessing.
    /// - Throws: `RequestFailure` `authenticationFailed`, the same for a wrong password and a stranger; `throttled`;
    ///   `accountRestricted` once the password was right.
    package func create(
        email: String, proof: [UInt8], deviceName: String, lifetime: SessionLifetime, place: Place, address: String
    ) async throws -> Grant {
        guard let emailAddress = EmailAddress(email) else { throw RequestFailure.malformedEmail }
        let secret = lifetime == .device ? surroundings.random(32) : nil
        let now = surroundings.now()
        let fresh = DeviceSession(
            id: surroundings.randomHex(bytes: 16), account: "",
            name: String(deviceName.prefix(DeviceSession.nameCharactersMax)), created: now,
            expires: now + lifetime.milliseconds, secretHash: secret.map { Array(SHA256.hash(data: $0)) })
        let opened = try await guesses.count(email: emailAddress.normalised, address: address, now: now) {
            try await book.change { page in
                guard let account = try await page.account(emailAddress), account.lock.opens(with: proof) else {
                    throw Self.wrong
                }
                guard !account.isDisabled else { throw RequestFailure.accountDisabled }
                return try await page.open(fresh, of: account, now: now)
            }
        }
        return try await grant(
            opened.session, lifetime: lifetime, place: place, deviceSecret: secret, keychain: opened.keychain)
    }

    /// Opens another container, or the same one again, for a device that is signed in.
    package func resume(_ device: DeviceKey, place: Place) async throws -> Grant {
        let now = surroundings.now()
        let session = try await book.change { page in
            var session = try await page.owner(of: device, now: now).session
            session.expires = now + SessionLifetime.device.milliseconds
            try page.set(AccountKey.session(session.id, of: session.account), to: session)
            return session
        }
        return try await grant(session, lifetime: .device, place: place, deviceSecret: nil, keychain: nil)
    }

    /// Ends a device's session: its tokens are refused from then on.
    package func end(_ device: DeviceKey) async throws {
        let session = try await DeviceSessions(book: book).session(device, now: surroundings.now())
        try await DeviceSessions(book: book).end(session.id)
    }

    private func grant(
        _ session: DeviceSession, lifetime: SessionLifetime, place: Place, deviceSecret: [UInt8]?, keychain: Keychain?
    ) async throws -> Grant {
        let token = WebAuthToken(
            account: session.account, device: session.id, lifetime: lifetime, issued: surroundings.now())
        return Grant(
            webAuthToken: try tokens.seal(
                token, container: place.container, environment: place.environment, apiToken: place.apiToken),
            user: try await names.name(of: session.account, in: place.container), deviceID: session.id,
            deviceSecret: deviceSecret, expires: token.expires, keychain: keychain)
    }

    private static let wrong = RequestFailure(
        .authenticationFailed, "wrong e-mail address or password", remedy: "Check both and try again.")
}

extension RequestFailure {
    static let malformedEmail = RequestFailure(.badRequest, "email is not an e-mail address")
    static let sessionEnded = RequestFailure(
        .authenticationFailed, "this device is not signed in", remedy: "Sign in again.")
}

extension Book.Page {
    /// Adds a session, removes those that are over, and gives a device the account's keychain.
    fileprivate mutating func open(
        _ fresh: DeviceSession, of account: Account, now: Int64
    ) async throws -> (session: DeviceSession, keychain: Keychain?) {
        var session = fresh
        session.account = account.id
        if !session.isBrowser { session.keychainGeneration = account.keychainGeneration }
        for old in try await rows(prefix: AccountKey.sessions(of: account.id), as: DeviceSession.self)
        where old.expires < now {
            clear(AccountKey.session(old.id, of: account.id))
            clear(AccountKey.sessionOwner(old.id))
        }
        try set(AccountKey.session(session.id, of: account.id), to: session)
        set(AccountKey.sessionOwner(session.id), to: Array(account.id.utf8))
        return (session, session.isBrowser ? nil : try await row(AccountKey.keychain(of: account.id)))
    }
}

/// The sessions of all accounts.
package struct DeviceSessions: Sendable {
    let book: Book

    package init(book: Book) { self.book = book }

    package func session(_ id: String) async throws -> DeviceSession? {
        guard let owner = try await book.get(AccountKey.sessionOwner(id)) else { return nil }
        return try await book.row(AccountKey.session(id, of: String(decoding: owner, as: UTF8.self)))
    }

    /// The session of a device that shows its secret.
    ///
    /// - Throws: `RequestFailure` `authenticationFailed`.
    package func session(_ device: DeviceKey, now: Int64) async throws -> DeviceSession {
        guard let session = try await session(device.id), session.opens(with: device.secret, now: now) else {
            throw RequestFailure.sessionEnded
        }
        return session
    }

    /// A device's session and account.
    ///
    /// - Throws: `RequestFailure` `authenticationFailed`, `accountRestricted`.
    package func owner(of device: DeviceKey, now: Int64) async throws -> (session: DeviceSession, account: Account) {
        let session = try await session(device, now: now)
        guard let account: Account = try await book.row(AccountKey.account(session.account)) else {
            throw RequestFailure.sessionEnded
        }
        guard !account.isDisabled else { throw RequestFailure.accountDisabled }
        return (session, account)
    }

    package func sessions(of account: Account) async throws -> [DeviceSession] {
        try await sessions(ofAccount: account.id)
    }

    package func sessions(ofAccount id: String) async throws -> [DeviceSession] {
        try await book.rows(prefix: AccountKey.sessions(of: id)).sorted { $0.created < $1.created }
    }

    /// Ends one session of an account, given its id or the first digits of it.
    ///
    /// - Returns: What was ended; empty when nothing matches, more than one when `text` is ambiguous, and then nothing is
    ///   ended.
    package func revoke(_ text: String, ofAccount id: String) async throws -> [DeviceSession] {
        let matches = try await sessions(ofAccount: id).filter { !text.isEmpty && $0.id.hasPrefix(text) }
        guard matches.count == 1 else { return matches }
        try await end(matches[0].id)
        return matches
    }

    /// Gives a session of an account another name, given its id or the first digits of it.
    ///
    /// - Parameter name: 1 to 100 characters.
    /// - Returns: What was named; empty when nothing matches, more than one when `text` is ambiguous, and then nothing is done.
    /// - Throws: `RequestFailure` `badRequest` for a name that is empty or too long.
    package func rename(_ text: String, to name: String, ofAccount id: String) async throws -> [DeviceSession] {
        guard (1...DeviceSession.nameCharactersMax).contains(name.count) else {
            throw RequestFailure(.badRequest, "bad device name", remedy: "Use 1 to 100 characters.")
        }
        let matches = try await sessions(ofAccount: id).filter { !text.isEmpty && $0.id.hasPrefix(text) }
        guard matches.count == 1, let match = matches.first else { return matches }
        return try await book.change { page in
            let key = AccountKey.session(match.id, of: id)
            guard var session: DeviceSession = try await page.row(key) else { return [] }
            session.name = name
            try page.set(key, to: session)
            return [session]
        }
    }

    /// Ends a session; nothing happens when it has ended.
    package func end(_ id: String) async throws {
        try await book.change { page in
            guard let owner = try await page.get(AccountKey.sessionOwner(id)) else { return }
            page.clear(AccountKey.session(id, of: String(decoding: owner, as: UTF8.self)))
            page.clear(AccountKey.sessionOwner(id))
        }
    }

    /// Lets a session last at least until then: a browser that gets notifications while nobody looks at it stays in its owner's list
    /// of devices. Tokens of the session end when they end.
    ///
    /// - Parameter id: Of the session; nothing happens when it has ended.
    func keep(_ id: String, until expires: Int64) async throws {
        guard !id.isEmpty, let session = try await session(id) else { return }
        try await extend(session, to: expires, lifetime: .persistent)
    }

    /// Pushes the end of a session further away, when that is worth a write.
    func extend(_ session: DeviceSession, to expires: Int64, lifetime: SessionLifetime) async throws {
        guard expires - session.expires > lifetime.milliseconds / 20 else { return }
        try await book.change { page in
            let key = AccountKey.session(session.id, of: session.account)
            guard var current: DeviceSession = try await page.row(key), current.expires < expires else { return }
            current.expires = expires
            try page.set(key, to: current)
        }
    }
}
