import CloudKitDevice
import CloudKitModel
import CloudKitWire
import Foundation
import TextEncodings

/// One call to one endpoint: signs it, sends it, repeats it where that makes sense, and reads the answer.
struct CloudCall: Sendable {
    let cloud: CloudAccess
    let scope: DatabaseScope
    let endpoint: CloudEndpoint
    let body: [UInt8]
    let settings: CallSettings
    /// The time by which the operation has to end, on the connection's clock; nil: no limit.
    let deadline: Duration?
    /// What a next process would have to know of the request; nil: none goes on with it.
    var notes: AttemptNotes?

    /// The bytes of a successful answer.
    ///
    /// - Parameter needsUser: Whether the call is of no use without a signed-in user; it then is not sent (B-ACC-02).
    func answer(needsUser: Bool) async throws -> [UInt8] {
        try cloud.surface.check(endpoint, scope)
        return try await cloud.clientEnvironment.within(deadline) {
            let bytes = try await finalAnswer(needsUser: needsUser)
            // The keys and what is remembered of zones are those of the user who is signed in.
            if needsUser { try checkUser() }
            return try await cloud.surface.read(bytes, of: endpoint) { try await callerName() }
        }
    }

    /// Asks documented web services who the user is; nil: there is none, or the service does not say.
    private func callerName() async throws -> String? {
        guard cloud.account.state.isAvailable else { return nil }
        let call = CloudCall(
            cloud: cloud, scope: .public, endpoint: .caller, body: [], settings: settings, deadline: deadline)
        do {
            return try UserIdentity(wireAnswer: try await call.answer(needsUser: true)).user.recordName
        } catch CallFailure.refused(let refusal) where refusal.code.concernsSignIn {
            return nil
        }
    }

    /// The state of a call over its attempts.
    private struct Attempts {
        /// What names the request to a cloud that remembers those that it has served; nil: it has no name.
        var request: RequestAttempt?
        /// The failure of an earlier attempt that may have taken effect.
        var open: CallFailure?
    }

    /// A repeated request has reached a cloud that does not remember those that it has served.
    private struct NotRemembered: Error {}

    private func finalAnswer(needsUser: Bool) async throws -> [UInt8] {
        var attempts = Attempts()
        if endpoint.isChange, cloud.surface.isNative {
            var generator = SystemRandomNumberGenerator()
            attempts.request = RequestAttempt(using: &generator)
            if var earlier = notes?.last() {
                // An earlier process has sent the request.
                earlier.number &+= 1
                attempts.request = earlier
                attempts.open = .transport(.connectionLost)
            }
        }
        var history = RetryHistory(start: cloud.clientEnvironment.now())
        while true {
            if let request = attempts.request, let notes {
                do throws(FileFailure) {
                    try notes.note(request)
                } catch {
                    // A later process, which knows of no attempt, would send another request, which conflicts with this one.
                    guard request.number > 1 else { throw CallFailure.profileUnusable(error) }
                }
            }
            do {
                return try await attemptOnce(attempts, needsUser: needsUser)
            } catch {
                if error is NotRemembered, let open = attempts.open { throw open }
                let failure = Task.isCancelled ? .cancelled : CallFailure(error)
                let isRepeatable = endpoint.isRepeatable || attempts.request != nil
                let delay = history.delay(
                    after: failure, by: settings.retries, isRepeatable: isRepeatable, of: cloud)
                guard let delay else {
                    if let open = attempts.open, failure.saysNothingOfEarlierAttempts { throw open }
                    throw failure
                }
                if endpoint.isChange, failure.leavesOutcomeOpen { attempts.open = failure }
                try await cloud.clientEnvironment.sleep(delay)
                attempts.request?.number += 1
            }
        }
    }

    private func attemptOnce(_ attempts: Attempts, needsUser: Bool) async throws -> [UInt8] {
        let place = try cloud.place.get()
        let now = cloud.clientEnvironment.now()
        let state = cloud.account.state
        if needsUser {
            if !cloud.surface.isNative, state == .noAccount { throw CallFailure.webAuthTokenMissing }
            try state.check(cloud.account)
        }
        if let remaining = cloud.gate.remaining(at: now) { throw CallFailure.rateLimited(remaining) }
        // A request that needs no user continues without one (B-ACC-02).
        let token =
            needsUser || state.isAvailable
            ? try await token(of: state.device?.id, needsUser: needsUser) { try await cloud.account.webAuthToken() }
            : nil
        do {
            return try await send(attempts, to: place, token)
        } catch CallFailure.refused(let refusal) where refusal.code.concernsAccount {
            return try await goOn(attempts, to: place, after: refusal, of: state.device?.id, needsUser: needsUser)
        } catch CallFailure.refused(let refusal) where refusal.code.concernsSignIn {
            // A user may have signed in again meanwhile, or the token may just be too old.
            let device = cloud.account.state.device?.id
            guard let token else { throw CallFailure.refused(refusal) }
            let other = try await self.token(of: device, needsUser: needsUser) {
                try await cloud.account.webAuthToken(insteadOf: token.text)
            }
            guard let other, other.text != token.text else { throw CallFailure.refused(refusal) }
            do {
                return try await send(attempts, to: place, other)
            } catch CallFailure.refused(let refusal) where refusal.code.concernsAccount {
                return try await goOn(attempts, to: place, after: refusal, of: device, needsUser: needsUser)
            }
        }
    }

    /// Goes on after the cloud has refused the account as such: without a user, where none is needed.
    ///
    /// - Parameter device: The device that was signed in.
    private func goOn(
        _ attempts: Attempts, to place: ContainerEndpoint, after refusal: RequestFailure, of device: String?,
        needsUser: Bool
    ) async throws -> [UInt8] {
        if let trouble = refusal.code.trouble, let device { cloud.account.remember(trouble, of: device) }
        guard !needsUser else { throw CallFailure(about: refusal) }
        return try await send(attempts, to: place, nil)
    }

    /// Stops what began before another user signed in (B-ACC-02), and what may be sealed under keys that were replaced since (B-ZN-12).
    private func checkUser() throws {
        guard let account = settings.account else { return }
        let state = cloud.account.state
        if state.isOtherUser(than: account) { throw CallFailure.accountChanged }
        if state.hasOtherKeys(than: account) { throw CallFailure.keysReplaced }
    }

    /// A web token, and the device that it belongs to.
    private struct Token {
        var text: String
        var device: String?
    }

    /// Returns a token for the user for whom the call began; for any user where it needs none.
    ///
    /// - Parameter device: The device that was signed in just before.
    private func token(
        of device: String?, needsUser: Bool, _ body: () async throws -> String?
    ) async throws -> Token? {
        do {
            let text = try await body()
            if needsUser { try checkUser() }
            return text.map { Token(text: $0, device: device) }
        } catch {
            throw CallFailure(account: error)
        }
    }

    private func send(
        _ attempts: Attempts, to place: ContainerEndpoint, _ token: Token?
    ) async throws -> [UInt8] {
        let request = try request(attempts, to: place, webAuthToken: token?.text)
        let response: TransportResponse
        do {
            response = try await cloud.transport.send(request)
        } catch let failure as TransportFailure {
            throw CallFailure.transport(failure, endpoint: place.endpoint)
        }
        cloud.contact.noteAnswer(at: cloud.clientEnvironment.now())
        if cloud.surface.isNative, let epoch = response.headers[RestorationFollower.header] {
            cloud.restorations.note(epoch, now: cloud.clientEnvironment.milliseconds())
        }
        if let device = token?.device, let rotated = response.headers["x-apple-cloudkit-web-auth-token"] {
            cloud.account.keep(rotated: rotated, of: device)
        }
        // An older cloud may have served an earlier attempt, and this one as another request.
        let isUncertain =
            attempts.open != nil && !endpoint.isRepeatable && response.headers[Self.attemptHeader.lowercased()] == nil
        if response.status == 200 {
            if isUncertain { throw NotRemembered() }
            return response.body
        }
        let failure = CallFailure.refused(cloud.refusal(of: response))
        if isUncertain, !failure.saysNothingOfEarlierAttempts { throw NotRemembered() }
        throw failure
    }

    private static let attemptHeader = "X-Welkin-Request"

    private func request(
        _ attempts: Attempts, to place: ContainerEndpoint, webAuthToken: String?
    ) throws -> TransportRequest {
        var target = endpoint.path(in: place.address(scope))
        if cloud.surface.sendsAPIToken {
            guard let apiToken = cloud.account.apiToken else {
                throw CallFailure.misconfigured(SignInError.apiTokenMissing(place.container.name).description)
            }
            target += "?ckAPIToken=" + apiToken.percentEncoded
            if let webAuthToken { target += "&ckWebAuthToken=" + webAuthToken.percentEncoded }
        }
        let text = place.endpoint + target
        guard let url = URL(string: text) else {
            throw CallFailure.misconfigured(DeviceConfigurationError.endpointMalformed(place.endpoint).description)
        }
        var headers = cloud.surface.headers(settings)
        if let request = attempts.request { headers[Self.attemptHeader] = request.text }
        let now = cloud.clientEnvironment.milliseconds()
        headers.merge(try cloud.surface.signature(of: body, to: target, now: now)) { $1 }
        if endpoint.method == .post { headers["Content-Type"] = "application/json; charset=utf-8" }
        return TransportRequest(
            method: endpoint.method, url: url, headers: headers, body: body, timeout: settings.requestTimeout,
            allowsCellularAccess: settings.allowsCellularAccess,
            isRepeatable: endpoint.isRepeatable || attempts.request != nil)
    }
}

extension RequestFailure.Code {
    /// A Boolean value that indicates whether another token may help.
    var concernsSignIn: Bool { self == .authenticationFailed || self == .authenticationRequired }

    /// A Boolean value that indicates whether no token helps, because the account itself cannot be used.
    var concernsAccount: Bool { self == .accountRestricted || self == .accountTemporarilyUnavailable }

    var trouble: AccountIssue? {
        switch self {
        case .accountRestricted: .disabled
        case .accountTemporarilyUnavailable: .keysReset
        default: nil
        }
    }
}

extension AccountState {
    var isAvailable: Bool { if case .available = self { true } else { false } }

    /// Stops what needs a user before it is sent (B-ACC-02).
    ///
    /// Not for a disabled account: whether it still is, the cloud knows.
    package func check(_ account: any DeviceAccount) throws(CallFailure) {
        switch self {
        case .available, .restricted: break
        case .noAccount: throw .notSignedIn
        case .temporarilyUnavailable(let trouble, _): throw .accountVerificationRequired(trouble.explanation)
        case .couldNotDetermine:
            do {
                _ = try account.secret()
            } catch {
                throw .accountUnusable("\(error)")
            }
            throw .accountUnusable("The device's account cannot be read")
        }
    }
}

extension CallFailure {
    /// The failure of a call that needs a user, without a web auth token.
    fileprivate static let webAuthTokenMissing = CallFailure.refused(
        RequestFailure(
            .authenticationRequired, "No web auth token is configured",
            remedy:
                "Write one into the file that CLOUDKIT_WEB_AUTH_TOKEN_FILE names, or webAuthTokenFile in cloudkit.json."
        ))

    /// Converts an error of the account of this device, or of asking the cloud about it.
    init(account error: any Error) {
        switch error {
        case let error as SignInError: self.init(signIn: error)
        case let error as DeviceProfileError: self.init(profile: error)
        default: self.init(error)
        }
    }

    /// The cloud did not give this device a token for the container.
    package init(signIn error: SignInError) {
        switch error {
        case .apiTokenMissing, .otherCloud:
            self = .misconfigured(error.description)
        case .answerMalformed:
            self = .answerMalformed(status: 200)
        case .notSignedIn:
            self = .notSignedIn
        case .keysMissing:
            self = .accountVerificationRequired(error.description)
        case .emailMalformed, .keychainForged, .passwordTooCheap, .filesRemain:
            self = .accountUnusable(error.description)
        case .refused(let refusal) where refusal.isAboutAPIToken:
            self = .misconfigured(
                "\(error.description). Check container, environment and token; make a token with: welkin token create")
        case .refused(let refusal):
            switch (refusal.trouble, refusal.status) {
            case (.disabled?, _): self = .accountUnusable(AccountIssue.disabled.explanation)
            case (let trouble?, _): self = .accountVerificationRequired(trouble.explanation)
            case (nil, 401), (nil, 403), (nil, 421): self = .accountUnusable(error.description)
            case (nil, 429), (nil, 503):
                let wait = RetryAfter.seconds(body: refusal.retryAfter, headers: [:])
                self = .refused(RequestFailure(.throttled, error.description, retryAfter: wait))
            case (nil, let status): self = .answerMalformed(status: status)
            }
        }
    }

    /// The cloud refused the account as such.
    package init(about refusal: RequestFailure) {
        guard let trouble = refusal.code.trouble else {
            self = .refused(refusal)
            return
        }
        switch trouble {
        case .disabled: self = .accountUnusable(trouble.explanation)
        default: self = .accountVerificationRequired(trouble.explanation)
        }
    }
}
