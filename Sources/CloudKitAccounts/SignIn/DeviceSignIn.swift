import CloudKitModel
import CloudKitRecordLayer
import Crypto

/// Signs devices and browsers of account holders in and out.
package final class DeviceSignIn: Sendable {
    private let store: AccountStore
    private let tokens: WebAuthTokens
    private let proofGuard: ProofLimiter

    /// - Parameter proofGuard: The one that keychains use, so that there is one count of wrong proofs.
    package init(store: AccountStore, proofGuard: ProofLimiter = ProofLimiter()) {
        self.store = store
        self.tokens = WebAuthTokens(store.serverEnvironment)
        self.proofGuard = proofGuard
    }

    /// The place where a session is opened, by an app that showed this API token.
    package struct Place: Sendable {
        /// The container whose user signs in.
        package var container: ContainerID
        /// The container's environment.
        package var environment: Environment
        /// The token that the app showed.
        package var apiToken: APIToken

        /// Creates the app from its container, environment and API token.
        package init(container: ContainerID, environment: Environment, apiToken: APIToken) {
            self.container = container
            self.environment = environment
            self.apiToken = apiToken
        }
    }

    /// The result of a successful sign-in.
    package struct Grant: Hashable, Sendable {
        /// The token of the device's next request.
        package var webAuthToken: String
        /// The user within the container.
        package var user: UserID
        /// The session's id.
        package var deviceID: String
        /// Only with a new session of a device.
        package var deviceSecret: [UInt8]?
        /// Milliseconds since 1970.
        package var expires: Int64
        /// Only with a new session of a device, or of a browser that asked for it; nil when the account has none yet, so that this
        /// device makes it.
        package var keychain: Keychain?
        /// The account secret, wrapped by the passkey with which the browser signed in; only with `keychain`.
        package var passkeyWrap: [UInt8]?
        /// The address of the account.
        package var email: String
        /// Whether a browser asked for the keychain of an account whose owner forbids that.
        package var withholdsKeychain = false
    }

    /// Returns the derivation of the proof for an address. The answer for an address without an account looks like any other and stays the same.
    package func prepare(email: String) async throws -> PasswordDerivation {
        guard let address = EmailAddress(email) else { throw RequestFailure.malformedEmail }
        if let account = try await store.read({ try await $0.account(address) }) {
            return PasswordDerivation(salt: account.password.salt, rounds: account.password.rounds)
        }
        let key = SymmetricKey(data: store.serverEnvironment.secret)
        let salt = HMAC<SHA256>.authenticationCode(for: Array("salt:\(address.normalised)".utf8), using: key)
        return PasswordDerivation(salt: Array(salt.prefix(16)), rounds: proofGuard.roundsMin)
    }

    /// How a session is opened, whatever proves that it may be.
    package struct Opening: Sendable {
        /// The name that the owner of the account sees in the list of devices.
        package var deviceName: String
        /// The lifetime of the tokens.
        package var lifetime: SessionLifetime
        /// The container, and the app there.
        package var place: Place
        /// The network address that sends the request, to slow down guessing.
        package var address: String
        /// Whether a browser asks for the account's wrapped keys; devices always get them.
        package var wantsKeychain: Bool
        /// Whether the person takes back the wish that the account is deleted.
        package var keepsAccount: Bool

        /// Creates the parameters of a session.
        package init(
            deviceName: String, lifetime: SessionLifetime, place: Place, address: String, wantsKeychain: Bool = false,
            keepsAccount: Bool = false
        ) {
            self.deviceName = deviceName
            self.lifetime = lifetime
            self.place = place
            self.address = address
            self.wantsKeychain = wantsKeychain
            self.keepsAccount = keepsAccount
        }
    }

    /// Opens a session with the proof of a password.
    ///
    /// - Parameters:
    ///   - address: The network address that sends the request, to slow down guessing.
    ///   - wantsKeychain: Whether a browser asks for the account's wrapped keys; devices always get them.
    ///   - keepsAccount: Whether the person takes back the wish that the account is deleted.
    /// - Throws: `RequestFailure` `authenticationFailed`, the same for a wrong password and an unknown address; `throttled`;
    ///   `accountRestricted` once the password was right.
    package func create(
        email: String, proof: [UInt8], deviceName: String, lifetime: SessionLifetime, place: Place, address: String,
        wantsKeychain: Bool = false, keepsAccount: Bool = false
    ) async throws -> Grant {
        guard let emailAddress = EmailAddress(email) else { throw RequestFailure.malformedEmail }
        let opening = Opening(
            deviceName: deviceName, lifetime: lifetime, place: place, address: address, wantsKeychain: wantsKeychain,
            keepsAccount: keepsAccount)
        return try await create(opening, countedAs: emailAddress.normalised) { transaction, _ in
            guard let account = try await transaction.account(emailAddress), account.password.matches(proof) else {
                throw Self.wrong
            }
            return (account, nil)
        }
    }

    /// Opens a session with a passkey.
    ///
    /// - Throws: `RequestFailure` `authenticationFailed`, the same for a passkey that is not known and for anything that is wrong with it;
    ///   `throttled`; `accountRestricted`.
    package func create(_ opening: Opening, passkey assertion: PasskeyAssertion) async throws -> Grant {
        let verifier = PasskeyVerifier(store.serverEnvironment)
        return try await create(opening, countedAs: "passkey \(Passkey.hash(of: assertion.id))") { transaction, now in
            let passkey = try await verifier.verify(assertion, for: .signIn, now: now, in: &transaction)
            guard let account = try await Account.table.row(passkey.account, in: transaction) else {
                throw RequestFailure.wrongPasskey
            }
            return (account, passkey.opensKeys(of: account) ? passkey.wrap : nil)
        }
    }

    /// Opens a session of a person whom a provider vouches for.
    ///
    /// - Parameters:
    ///   - opening: The session.
    ///   - text: The sealed ticket, which is used up.
    /// - Throws: `RequestFailure` `authenticationFailed` for a ticket that is not the cloud's, used or old; `itemNotFound` for a person without
    ///   an account, whose ticket can be used to make one; `accountRestricted`.
    package func create(_ opening: Opening, ticket text: String) async throws -> Grant {
        let tickets = ProviderTickets(store.serverEnvironment)
        // A name of its own: failures of some keep nobody else from signing in.
        return try await create(opening, countedAs: "ticket \(SHA256.hash(data: Array(text.utf8)).hex)") {
            transaction, now in
            let ticket = try tickets.open(text, now: now)
            guard let account = try await transaction.account(ticket) else { throw RequestFailure.noAccountOfProvider }
            guard try await transaction.spend("ticket " + ticket.id, until: ticket.expires, now: now) else {
                throw RequestFailure.ticketInvalid
            }
            return (account, nil)
        }
    }

    /// Opens a session of the account that a check finds.
    ///
    /// - Parameters:
    ///   - opening: The session.
    ///   - name: The name under which failures are counted.
    ///   - find: Returns the account, and its secret as it is wrapped for the sender alone.
    private func create(
        _ opening: Opening, countedAs name: String,
        _ find: @Sendable (inout StorageWriter, _ now: Int64) async throws -> (Account, wrap: [UInt8]?)
    ) async throws -> Grant {
        let secret = opening.lifetime == .device ? store.serverEnvironment.random(32) : nil
        let now = store.serverEnvironment.now()
        let session = DeviceSession(
            id: store.serverEnvironment.randomHex(bytes: 16), account: "",
            name: String(opening.deviceName.prefix(DeviceSession.nameCharactersMax)), created: now,
            expires: now + opening.lifetime.milliseconds, secretHash: secret.map { Array(SHA256.hash(data: $0)) })
        let opened = try await proofGuard.count(email: name, address: opening.address, now: now, in: store) {
            try await store.write { transaction in
                let (account, wrap) = try await find(&transaction, now)
                guard !account.isDisabled else { throw RequestFailure.accountDisabled }
                try await transaction.takeBackDeletion(of: account, isWanted: opening.keepsAccount, now: now)
                var opened = try await transaction.open(
                    session, of: account, wantsKeychain: opening.wantsKeychain || !session.isBrowser, now: now)
                opened.wrap = opened.keychain == nil ? nil : wrap
                return opened
            }
        }
        var grant = try await grant(
            opened.session, email: opened.email, lifetime: opening.lifetime, place: opening.place, deviceSecret: secret,
            keychain: opened.keychain)
        grant.withholdsKeychain = opened.withholdsKeychain
        grant.passkeyWrap = opened.wrap
        return grant
    }

    /// Opens another container, or the same one again, for a device that is signed in.
    package func resume(_ device: DeviceKey, place: Place) async throws -> Grant {
        let now = store.serverEnvironment.now()
        let (session, email) = try await store.write { transaction in
            var (session, account) = try await transaction.owner(of: device, now: now)
            session.expires = now + SessionLifetime.device.milliseconds
            try transaction.set(session)
            return (session, account.email)
        }
        return try await grant(
            session, email: email, lifetime: .device, place: place, deviceSecret: nil, keychain: nil)
    }

    /// Returns a web token with which a browser that is signed in on a page of the cloud uses another container; it ends with the session.
    ///
    /// - Parameters:
    ///   - session: The session of the browser.
    ///   - place: The container, and the API token of the page there.
    package func pageToken(of session: DeviceSession, place: Place) throws -> String {
        let token = WebAuthToken(
            account: session.account, device: session.id, lifetime: .session, issued: store.serverEnvironment.now())
        return try tokens.seal(
            token, container: place.container, environment: place.environment, apiToken: place.apiToken)
    }

    /// Ends a device's session: its tokens are refused from then on.
    package func end(_ device: DeviceKey) async throws {
        let session = try await store.sessions.session(device, now: store.serverEnvironment.now())
        try await store.sessions.end(session.id)
    }

    private func grant(
        _ session: DeviceSession, email: String, lifetime: SessionLifetime, place: Place, deviceSecret: [UInt8]?,
        keychain: Keychain?
    ) async throws -> Grant {
        let token = WebAuthToken(
            account: session.account, device: session.id, lifetime: lifetime, issued: store.serverEnvironment.now())
        return Grant(
            webAuthToken: try tokens.seal(
                token, container: place.container, environment: place.environment, apiToken: place.apiToken),
            user: try await store.userNames.name(of: session.account, in: place.container), deviceID: session.id,
            deviceSecret: deviceSecret, expires: token.expires, keychain: keychain, email: email)
    }

    private static let wrong = RequestFailure(
        .authenticationFailed, "wrong e-mail address or password", remedy: "Check both and try again.")
}

/// A session that was opened, with what its device or browser gets of the account's keys.
private struct OpenedSession: Sendable {
    var session: DeviceSession
    var email: String
    var keychain: Keychain?
    var withholdsKeychain: Bool
    var wrap: [UInt8]?
}

extension StorageWriter {
    /// Adds a session, removes those that have been over for long and those that are too many, and returns it with the account's keychain
    /// for a device, or for a browser whose account allows it.
    fileprivate mutating func open(
        _ opened: DeviceSession, of account: Account, wantsKeychain: Bool, now: Int64
    ) async throws -> OpenedSession {
        var session = opened
        session.account = account.id
        let withholds = session.isBrowser && wantsKeychain && !account.allowsWebKeys
        let keychain = wantsKeychain && !withholds ? try await Keychain.table.row(account.id, in: self) : nil
        if !session.isBrowser || keychain != nil { session.keychainGeneration = account.keychainGeneration }
        var kept: [DeviceSession] = []
        for (id, row) in try await DeviceSession.table.rows(of: account.id, in: self) {
            var old = row
            switch row.expiry(at: now) {
            case .lasts, .over: break
            case .lastsAgain: old.foundOver = nil
            case .justFoundOver: old.foundOver = now
            case .delete:
                clearSession(id, of: account.id)
                continue
            }
            if old != row { try set(old) }
            kept.append(old)
        }
        clearExcess(of: kept)
        try await clearKeyRequests(ofAccount: account.id, before: now)
        try set(session)
        try DeviceSession.owners.set(session.id, to: account.id, in: &self)
        try noteDirectoryChange(.account(account.id))
        return OpenedSession(
            session: session, email: account.email, keychain: keychain, withholdsKeychain: withholds)
    }

    /// Removes sessions of an account so that there is space for another one: those that would end first, which are those of browsers and
    /// of devices that have not been used for the longest time.
    private mutating func clearExcess(of sessions: [DeviceSession]) {
        let excess = sessions.count + 1 - DeviceSession.countMax
        guard excess > 0 else { return }
        for session in sessions.sorted(by: { $0.expires < $1.expires }).prefix(excess) {
            clearSession(session.id, of: session.account)
        }
    }
}
