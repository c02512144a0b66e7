import AsyncLocks
import CloudKitModel
import Crypto
import Synchronization

/// Authenticates requests (docs/web-services.md §2.1).
///
/// Answers of the store are cached for a few seconds, so a token revoked, a session ended or an account disabled by another
/// process may work that much longer; `forget` makes it immediate in this one.
package final class Authenticator: Sendable {
    private let store: AccountStore
    private let tokens: WebAuthTokens
    private let pageTokens: PageTokens
    private let cacheLifetime: Int64
    private let dateTolerance: Int64
    private let cache = Mutex(Cache())
    /// What has expired is needed by many requests at once, and read once.
    private let admissionReads = SharedReads<CacheKey, AuthenticatedCaller>()
    private let sessionReads = SharedReads<String, SessionStanding?>()

    private struct CacheKey: Hashable {
        var container: ContainerID
        var environment: Environment
        var apiToken: String
        var webAuthToken: String?
    }

    private struct CacheEntry {
        var admission: AuthenticatedCaller
        var account: String?
        var expires: Int64
    }

    private struct SessionEntry {
        var standing: SessionStanding
        var expires: Int64
    }

    private struct Cache {
        var entries: [CacheKey: CacheEntry] = [:]
        var sessions: [String: SessionEntry] = [:]
        /// Raised by forgetting: answers read before are not cached after.
        var revision = 0
    }

    private static let cacheEntriesMax = 20_000

    /// - Parameters:
    ///   - cacheLifetime: How long an answer of the store is cached, milliseconds.
    ///   - dateTolerance: How far the date of a signed request may be off, milliseconds.
    package init(
        store: AccountStore, cacheLifetime: Int64 = 5_000,
        dateTolerance: Int64 = ServerSignature.dateToleranceDefault
    ) {
        self.store = store
        self.cacheLifetime = cacheLifetime
        self.dateTolerance = dateTolerance
        tokens = WebAuthTokens(store.serverEnvironment)
        pageTokens = PageTokens(store.serverEnvironment)
    }

    /// Authenticates a request.
    ///
    /// A signature wins over tokens when both come. A web token that expired, or whose session was ended, leaves the
    /// caller without a user: what needs one is then refused with `authenticationRequired`, so that clients sign in again.
    ///
    /// - Parameters:
    ///   - target: Path and query as received.
    ///   - body: Reads the request's body, which a signature covers; called only for a signature by a known key with the right date.
    /// - Throws: `RequestFailure` `authenticationFailed` for credentials that are missing, wrong, or of another container or environment;
    ///   `unknownAPIToken` for such an API token.
    package func admit(
        _ credentials: RequestCredentials, container: ContainerID, environment: Environment, target: String,
        body: () async throws -> [UInt8]
    ) async throws -> AuthenticatedCaller {
        if let signature = credentials.signature {
            return try await admit(
                signature, container: container, environment: environment, target: target, body: body)
        }
        guard let apiToken = credentials.apiToken else { throw Self.credentialsMissing }
        let admission = try await cached(
            CacheKey(
                container: container, environment: environment, apiToken: apiToken,
                webAuthToken: credentials.webAuthToken))
        guard admission.apiToken?.allows(origin: credentials.origin) != false else { throw Self.originRefused }
        return admission
    }

    /// Returns the API token of a container and environment, for calls that come before there is a user.
    package func apiToken(
        _ token: String?, container: ContainerID, environment: Environment, origin: String?
    ) async throws -> APIToken {
        guard let token else { throw Self.credentialsMissing }
        let row = try await validAPIToken(token, container: container, environment: environment)
        guard row.allows(origin: origin) else { throw Self.originRefused }
        return row
    }

    /// Forgets the cached answers about an account: it, its keychain or one of its sessions changed.
    package func forget(account: String) {
        cache.withLock { cache in
            cache.revision += 1
            cache.entries = cache.entries.filter { $0.value.account != account }
            cache.sessions = cache.sessions.filter { $0.value.standing.account != account }
        }
    }

    /// Forgets every cached answer: another process has written to the store.
    package func forgetAll() {
        cache.withLock { cache in
            cache.revision += 1
            cache.entries.removeAll(keepingCapacity: true)
            cache.sessions.removeAll(keepingCapacity: true)
        }
    }

    private func cached(_ key: CacheKey) async throws -> AuthenticatedCaller {
        let now = store.serverEnvironment.now()
        let known = cache.withLock { $0.entries[key] }
        if let known, now < known.expires { return known.admission }
        return try await admissionReads.value(of: key) { try await self.readAdmission(key, now: now) }
    }

    private func readAdmission(_ key: CacheKey, now: Int64) async throws -> AuthenticatedCaller {
        // The one before may have brought it.
        let (known, revision) = cache.withLock { ($0.entries[key], $0.revision) }
        if let known, now < known.expires { return known.admission }
        let (admission, account) = try await admission(key, now: now)
        if cacheLifetime > 0, admission.keychain != .resetting {
            cache.withLock { cache in
                guard cache.revision == revision else { return }
                if cache.entries.count >= Self.cacheEntriesMax { cache.entries.removeAll(keepingCapacity: true) }
                cache.entries[key] = CacheEntry(
                    admission: admission, account: account, expires: now + cacheLifetime)
            }
        }
        return admission
    }

    private func admission(_ key: CacheKey, now: Int64) async throws -> (AuthenticatedCaller, account: String?) {
        let apiToken = try await validAPIToken(
            key.apiToken, container: key.container, environment: key.environment)
        guard let text = key.webAuthToken else { return (AuthenticatedCaller(apiToken: apiToken), nil) }
        guard
            let token = tokens.open(
                text, container: key.container, environment: key.environment, apiToken: apiToken)
        else { throw Self.webTokenRefused }
        guard now < token.expires, let session = try await store.sessions.standing(token.device),
            session.account == token.account
        else { return (AuthenticatedCaller(apiToken: apiToken), nil) }
        guard !session.isDisabled else { throw RequestFailure.accountDisabled }
        let account = session.account
        let next = WebAuthToken(account: account, device: session.id, lifetime: token.lifetime, issued: now)
        try await store.sessions.extend(
            session.id, of: account, from: session.expires, to: next.expires, lifetime: next.lifetime)
        let admission = AuthenticatedCaller(
            user: try await store.userNames.name(of: account, in: key.container),
            deviceID: displayID(ofSession: session.id, in: key.container), apiToken: apiToken,
            nextWebAuthToken: try tokens.seal(
                next, container: key.container, environment: key.environment, apiToken: apiToken),
            keychain: session.keychain, keychainGeneration: session.keychainGeneration, sessionID: session.id)
        return (admission, account)
    }

    /// Returns whether a session has neither ended nor expired, its account is not disabled, and its keys are the present ones.
    package func isCurrent(sessionID: String) async throws -> Bool {
        let now = store.serverEnvironment.now()
        let known = cache.withLock { $0.sessions[sessionID] }
        if let known, now < known.expires { return known.standing.isCurrent(at: now) }
        let standing = try await sessionReads.value(of: sessionID) {
            try await self.readStanding(ofSession: sessionID, now: now)
        }
        return standing?.isCurrent(at: now) ?? false
    }

    private func readStanding(ofSession sessionID: String, now: Int64) async throws -> SessionStanding? {
        let (known, revision) = cache.withLock { ($0.sessions[sessionID], $0.revision) }
        if let known, now < known.expires { return known.standing }
        guard let standing = try await store.sessions.standing(sessionID) else { return nil }
        if cacheLifetime > 0 {
            cache.withLock { cache in
                guard cache.revision == revision else { return }
                if cache.sessions.count >= Self.cacheEntriesMax { cache.sessions.removeAll(keepingCapacity: true) }
                cache.sessions[sessionID] = SessionEntry(standing: standing, expires: now + cacheLifetime)
            }
        }
        return standing
    }

    private func displayID(ofSession id: String, in container: ContainerID) -> String {
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("device:\(id):\(container.name)".utf8),
            using: SymmetricKey(data: store.serverEnvironment.secret))
        return code.prefix(16).hex
    }

    private func validAPIToken(
        _ token: String, container: ContainerID, environment: Environment
    ) async throws -> APIToken {
        if let row = pageTokens.row(token, container: container, environment: environment) { return row }
        guard let row = try await store.apiTokens.find(token), row.container == container.name,
            row.environment == environment.rawValue
        else { throw Self.apiTokenRefused }
        return row
    }

    private func admit(
        _ signature: ServerSignature, container: ContainerID, environment: Environment, target: String,
        body: () async throws -> [UInt8]
    ) async throws -> AuthenticatedCaller {
        guard signature.isWithinTolerance(now: store.serverEnvironment.now(), tolerance: dateTolerance) else {
            throw Self.dateRefused
        }
        guard let key = try await store.serverKeys.find(signature.keyID), key.container == container.name,
            key.environment == environment.rawValue
        else { throw Self.signatureRefused }
        guard signature.isValid(publicKey: key.publicKey, target: target, body: try await body()) else {
            throw Self.signatureRefused
        }
        return AuthenticatedCaller(user: UserID(key.userRecordName), isServerKey: true)
    }

    private static let credentialsMissing = RequestFailure(
        .unknownAPIToken, "no API token and no signature", remedy: "Send ckAPIToken in the query string.")
    private static let apiTokenRefused = RequestFailure(
        .unknownAPIToken, "unknown API token for this container and environment",
        remedy: "Check container, environment and token; make a token with: welkin token create")
    private static let originRefused = RequestFailure(
        .authenticationFailed, "this API token may not be used by pages of this origin")
    private static let webTokenRefused = RequestFailure(
        .authenticationFailed, "bad web auth token for this container, environment and API token",
        remedy: "Sign in again.")
    private static let dateRefused = RequestFailure(
        .authenticationFailed, "the request's date is too far from the server's",
        remedy: "Set the clock; the date is ISO 8601 in UTC.")
    private static let signatureRefused = RequestFailure(.authenticationFailed, "bad signature")
}
