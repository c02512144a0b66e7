import CloudKitModel
import CloudKitRecordLayer
import Crypto
import Synchronization

/// What a request brings to say who sends it.
package struct RequestCredentials: Hashable, Sendable {
    package var apiToken: String?
    package var webAuthToken: String?
    package var signature: ServerSignature?
    /// The origin of the web page that sends it.
    package var origin: String?

    package init(
        apiToken: String? = nil, webAuthToken: String? = nil, signature: ServerSignature? = nil, origin: String? = nil
    ) {
        self.apiToken = apiToken
        self.webAuthToken = webAuthToken
        self.signature = signature
        self.origin = origin
    }
}

/// Who sends a request, once that is established.
package struct Admission: Hashable, Sendable {
    /// The user within the container; nil for an app without one.
    package var user: UserID?
    /// The device as records of this container show it: like the user, another in every container, so that apps cannot
    /// tell from it who is the same person.
    package var deviceID: String?
    package var isServerKey = false
    /// The app's token; nil for a signed request.
    package var apiToken: APIToken?
    /// The web token that goes back with the answer, whatever the answer is; the old one stays good until it expires.
    package var nextWebAuthToken: String?
    /// How the device's keys relate to the account's.
    package var keychain = KeychainStanding.current
    /// The session of the device or browser; what outlives the request ends with it.
    package var sessionID: String?
}

/// Establishes who sends a request (docs/web-services.md §2.1).
///
/// What the store says is remembered for a few seconds, so a token revoked, a session ended or an account disabled by another
/// process may work that much longer; `forget` makes it immediate in this one.
package final class Authenticator: Sendable {
    private let surroundings: Surroundings
    private let accounts: Accounts
    private let apiTokens: APITokens
    private let serverKeys: ServerKeys
    private let sessions: DeviceSessions
    private let names: UserNames
    private let tokens: WebAuthTokens
    private let memoryLifetime: Int64
    private let dateTolerance: Int64
    private let memory = Mutex(Memories())

    private struct Question: Hashable {
        var container: ContainerID
        var environment: Environment
        var apiToken: String
        var webAuthToken: String?
    }

    private struct Memory {
        var admission: Admission
        var account: String?
        var until: Int64
    }

    private struct Memories {
        var answers: [Question: Memory] = [:]
        /// Raised by forgetting: what was read before is not remembered after.
        var revision = 0
    }

    private static let memoriesMax = 20_000

    /// - Parameters:
    ///   - memoryLifetime: How long an answer of the store is remembered, milliseconds.
    ///   - dateTolerance: How far the date of a signed request may be off, milliseconds.
    package init(
        book: Book, surroundings: Surroundings, memoryLifetime: Int64 = 5_000,
        dateTolerance: Int64 = ServerSignature.dateToleranceDefault
    ) {
        self.surroundings = surroundings
        self.memoryLifetime = memoryLifetime
        self.dateTolerance = dateTolerance
        accounts = Accounts(book: book, surroundings: surroundings)
        apiTokens = APITokens(book: book, surroundings: surroundings)
        serverKeys = ServerKeys(book: book, surroundings: surroundings)
        sessions = DeviceSessions(book: book)
        names = UserNames(book: book, surroundings: surroundings)
        tokens = WebAuthTokens(surroundings: surroundings)
    }

    /// Establishes who sends a request.
    ///
    /// A signature wins over tokens when both come. A web token that expired, or whose session was ended, leaves the
    /// caller without a user: what needs one is then refused with `authenticationRequired`, so that clients sign in anew.
    ///
    /// - Parameters:
    ///   - target: Path and query as received.
    ///   - body: The request's body, which a signature covers.
    /// - Throws: `RequestFailure` `authenticationFailed` for credentials that are missing, wrong, or of another place.
    package func admit(
        _ credentials: RequestCredentials, container: ContainerID, environment: Environment, target: String,
        body: [UInt8]
    ) async throws -> Admission {
        if let signature = credentials.signature {
            return try await admit(signature, container, environment, target, body)
        }
        guard let apiToken = credentials.apiToken else { throw Self.nothingBrought }
        let question = Question(
            container: container, environment: environment, apiToken: apiToken,
            webAuthToken: credentials.webAuthToken)
        let admission = try await remembered(question)
        guard admission.apiToken?.allows(origin: credentials.origin) != false else { throw Self.originRefused }
        return admission
    }

    /// The API token a place accepts, for calls that come before there is a user.
    package func apiToken(
        _ token: String?, container: ContainerID, environment: Environment, origin: String?
    ) async throws -> APIToken {
        guard let token else { throw Self.nothingBrought }
        let row = try await apiToken(token, container, environment)
        guard row.allows(origin: origin) else { throw Self.originRefused }
        return row
    }

    /// Asks the store again about everybody who uses an account: it, its keychain or one of its sessions changed.
    package func forget(account: String) {
        memory.withLock { memory in
            memory.revision += 1
            memory.answers = memory.answers.filter { $0.value.account != account }
        }
    }

    /// Asks the store again about everybody: another process has written to it.
    package func forgetAll() {
        memory.withLock { memory in
            memory.revision += 1
            memory.answers.removeAll(keepingCapacity: true)
        }
    }

    private func remembered(_ question: Question) async throws -> Admission {
        let now = surroundings.now()
        let (known, revision) = memory.withLock { ($0.answers[question], $0.revision) }
        if let known, now < known.until { return known.admission }
        let (admission, account) = try await admission(question, now: now)
        if memoryLifetime > 0, admission.keychain != .resetting {
            memory.withLock { memory in
                guard memory.revision == revision else { return }
                if memory.answers.count >= Self.memoriesMax { memory.answers.removeAll(keepingCapacity: true) }
                memory.answers[question] = Memory(
                    admission: admission, account: account, until: now + memoryLifetime)
            }
        }
        return admission
    }

    private func admission(_ question: Question, now: Int64) async throws -> (Admission, account: String?) {
        let apiToken = try await apiToken(question.apiToken, question.container, question.environment)
        guard let text = question.webAuthToken else { return (Admission(apiToken: apiToken), nil) }
        guard
            let token = tokens.open(
                text, container: question.container, environment: question.environment, apiToken: apiToken)
        else { throw Self.webTokenRefused }
        guard now < token.expires, let session = try await sessions.session(token.device),
            session.account == token.account, let account = try await accounts.account(id: token.account)
        else { return (Admission(apiToken: apiToken), nil) }
        guard !account.isDisabled else { throw RequestFailure.accountDisabled }
        let next = WebAuthToken(account: account.id, device: session.id, lifetime: token.lifetime, issued: now)
        try await sessions.extend(session, to: next.expires, lifetime: next.lifetime)
        let admission = Admission(
            user: try await names.name(of: account.id, in: question.container),
            deviceID: shownID(of: session, in: question.container), apiToken: apiToken,
            nextWebAuthToken: try tokens.seal(
                next, container: question.container, environment: question.environment, apiToken: apiToken),
            keychain: Self.standing(of: session, account), sessionID: session.id)
        return (admission, account.id)
    }

    private static func standing(of session: DeviceSession, _ account: Account) -> KeychainStanding {
        if session.isOutdated(for: account) { return .outdated }
        return account.isResettingKeys ? .resetting : .current
    }

    /// Whether a session has neither ended nor expired, its account is not disabled, and its keys are the present ones.
    package func isCurrent(sessionID: String) async throws -> Bool {
        guard let session = try await sessions.session(sessionID), surroundings.now() < session.expires,
            let account = try await accounts.account(id: session.account)
        else { return false }
        return !account.isDisabled && !session.isOutdated(for: account)
    }

    private func shownID(of session: DeviceSession, in container: ContainerID) -> String {
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("device:\(session.id):\(container.name)".utf8), using: SymmetricKey(data: surroundings.secret))
        return code.prefix(16).hex
    }

    private func apiToken(
        _ token: String, _ container: ContainerID, _ environment: Environment
    ) async throws -> APIToken {
        guard let row = try await apiTokens.find(token), row.container == container.name,
            row.environment == environment.rawValue
        else { throw Self.apiTokenRefused }
        return row
    }

    private func admit(
        _ signature: ServerSignature, _ container: ContainerID, _ environment: Environment, _ target: String,
        _ body: [UInt8]
    ) async throws -> Admission {
        guard signature.isTimely(now: surroundings.now(), tolerance: dateTolerance) else { throw Self.dateRefused }
        guard let key = try await serverKeys.find(signature.keyID), key.container == container.name,
            key.environment == environment.rawValue,
            signature.isGood(publicKey: key.publicKey, target: target, body: body)
        else { throw Self.signatureRefused }
        return Admission(user: UserID(key.userRecordName), isServerKey: true)
    }

    private static let nothingBrought = RequestFailure(
        .authenticationFailed, "no API token and no signature", remedy: "Send ckAPIToken in the query string.")
    private static let apiTokenRefused = RequestFailure(
        .authenticationFailed, "unknown API token for this container and environment",
        remedy: "Make one with: welkin token create")
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
