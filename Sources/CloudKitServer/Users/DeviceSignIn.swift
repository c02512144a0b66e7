import CloudKitModel
import CloudKitRecordLayer
import Crypto
import Synchronization

/// Lets people sign their devices and browsers in and out.
package final class DeviceSignIn: Sendable {
    private let book: Book
    private let surroundings: Surroundings
    private let accounts: Accounts
    private let names: UserNames
    private let tokens: WebAuthTokens
    private let throttle = Mutex(SignInThrottle())

    /// What a stranger's address is told; the same as for accounts made with the default.
    private let roundsOfStrangers: Int

    package init(book: Book, surroundings: Surroundings, roundsOfStrangers: Int = 600_000) {
        self.book = book
        self.surroundings = surroundings
        self.accounts = Accounts(book: book, surroundings: surroundings)
        self.names = UserNames(book: book, surroundings: surroundings)
        self.tokens = WebAuthTokens(surroundings: surroundings)
        self.roundsOfStrangers = roundsOfStrangers
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
    }

    /// How to derive the proof for an address. A stranger's answer looks like an account's and stays the same.
    package func prepare(email: String) async throws -> PasswordPuzzle {
        guard let address = EmailAddress(email) else { throw Self.malformedEmail }
        if let account = try await accounts.account(email: address.normalised) {
            return PasswordPuzzle(salt: account.lock.salt, rounds: account.lock.rounds)
        }
        let key = SymmetricKey(data: surroundings.secret)
        let salt = HMAC<SHA256>.authenticationCode(for: Array("salt:\(address.normalised)".utf8), using: key)
        return PasswordPuzzle(salt: Array(salt.prefix(16)), rounds: roundsOfStrangers)
    }

    /// Opens a session with the proof of a password.
    ///
    /// - Parameter address: From where, to slow down guessing.
    /// - Throws: `RequestFailure` `authenticationFailed`, the same for a wrong password and a stranger; `throttled`.
    package func create(
        email: String, proof: [UInt8], deviceName: String, lifetime: SessionLifetime, place: Place, address: String
    ) async throws -> Grant {
        guard let emailAddress = EmailAddress(email) else { throw Self.malformedEmail }
        let email = emailAddress.normalised
        let now = surroundings.now()
        if let wait = throttle.withLock({ $0.wait(email: email, address: address, now: now) }) {
            throw RequestFailure(.throttled, "too many failed sign-ins", retryAfter: wait)
        }
        let account = try await accounts.account(email: email)
        guard let account, account.lock.opens(with: proof) else {
            throttle.withLock { $0.failed(email: email, address: address, now: now) }
            throw RequestFailure(
                .authenticationFailed, "wrong e-mail address or password", remedy: "Check both and try again.")
        }
        throttle.withLock { $0.succeeded(email: email, address: address) }
        guard !account.isDisabled else { throw Self.disabled }
        return try await open(account, deviceName: deviceName, lifetime: lifetime, place: place)
    }

    /// Opens another container, or the same one again, for a device that is signed in.
    package func resume(deviceID: String, deviceSecret: [UInt8], place: Place) async throws -> Grant {
        let session = try await session(deviceID, deviceSecret)
        guard let account = try await accounts.account(id: session.account) else { throw Self.sessionEnded }
        guard !account.isDisabled else { throw Self.disabled }
        let expires = surroundings.now() + SessionLifetime.device.milliseconds
        try await book.change { page in
            let key = AccountKey.session(session.id, of: session.account)
            guard var current: DeviceSession = try await page.row(key) else { throw Self.sessionEnded }
            current.expires = expires
            try page.set(key, to: current)
        }
        return try await grant(session, lifetime: .device, place: place, deviceSecret: nil)
    }

    /// Ends a device's session: its tokens are refused from then on.
    package func end(deviceID: String, deviceSecret: [UInt8]) async throws {
        let session = try await session(deviceID, deviceSecret)
        try await DeviceSessions(book: book).end(session.id)
    }

    private func open(
        _ account: Account, deviceName: String, lifetime: SessionLifetime, place: Place
    ) async throws -> Grant {
        let now = surroundings.now()
        let secret = lifetime == .device ? surroundings.random(32) : nil
        let session = DeviceSession(
            id: surroundings.randomHex(bytes: 16), account: account.id, name: String(deviceName.prefix(100)),
            created: now, expires: now + lifetime.milliseconds, secretHash: secret.map { Array(SHA256.hash(data: $0)) })
        try await book.change { page in
            for old in try await page.rows(prefix: AccountKey.sessions(of: account.id), as: DeviceSession.self)
            where old.expires < now {
                page.clear(AccountKey.session(old.id, of: account.id))
                page.clear(AccountKey.sessionOwner(old.id))
            }
            try page.set(AccountKey.session(session.id, of: account.id), to: session)
            page.set(AccountKey.sessionOwner(session.id), to: Array(account.id.utf8))
        }
        return try await grant(session, lifetime: lifetime, place: place, deviceSecret: secret)
    }

    private func grant(
        _ session: DeviceSession, lifetime: SessionLifetime, place: Place, deviceSecret: [UInt8]?
    ) async throws -> Grant {
        let token = WebAuthToken(
            account: session.account, device: session.id, lifetime: lifetime, issued: surroundings.now())
        return Grant(
            webAuthToken: try tokens.seal(
                token, container: place.container, environment: place.environment, apiToken: place.apiToken),
            user: try await names.name(of: session.account, in: place.container), deviceID: session.id,
            deviceSecret: deviceSecret, expires: token.expires)
    }

    private func session(_ id: String, _ secret: [UInt8]) async throws -> DeviceSession {
        let hash = Array(SHA256.hash(data: secret))
        guard let session = try await DeviceSessions(book: book).session(id), let held = session.secretHash,
            isEqualInConstantTime(hash, held), session.expires > surroundings.now()
        else { throw Self.sessionEnded }
        return session
    }

    private static let malformedEmail = RequestFailure(.badRequest, "email is not an e-mail address")
    private static let sessionEnded = RequestFailure(
        .authenticationFailed, "this device is not signed in", remedy: "Sign in again.")
    private static let disabled = RequestFailure(
        .authenticationFailed, "this account is disabled", remedy: "Ask the operator of this cloud.")
}

/// The sessions of all accounts.
package struct DeviceSessions: Sendable {
    let book: Book

    package init(book: Book) { self.book = book }

    package func session(_ id: String) async throws -> DeviceSession? {
        guard let owner = try await book.get(AccountKey.sessionOwner(id)) else { return nil }
        return try await book.row(AccountKey.session(id, of: String(decoding: owner, as: UTF8.self)))
    }

    package func sessions(of account: Account) async throws -> [DeviceSession] {
        try await book.rows(prefix: AccountKey.sessions(of: account.id)).sorted { $0.created < $1.created }
    }

    /// Ends a session; nothing happens when it has ended.
    package func end(_ id: String) async throws {
        try await book.change { page in
            guard let owner = try await page.get(AccountKey.sessionOwner(id)) else { return }
            page.clear(AccountKey.session(id, of: String(decoding: owner, as: UTF8.self)))
            page.clear(AccountKey.sessionOwner(id))
        }
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
