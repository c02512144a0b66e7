import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import CloudKitWire

/// A request to a database that was let in: everything that an endpoint below `/database` looks at.
///
/// An object, since many functions hand it on.
final class DatabaseCall {
    let database: DatabaseAddress
    let caller: Caller
    let query: RequestQuery
    let body: [UInt8]
    /// The request's identifier, for error items.
    let uuid: String
    /// Scheme, host and port under which the client reaches this cloud; empty where nothing names them.
    let baseURL: String
    /// The user, or the network address of a request without one: those whose answers are counted together.
    let sender: String
    /// What the request is about, for the log.
    let subject: RequestSubject

    init(_ request: IncomingRequest) throws(RequestFailure) {
        let place = try request.place
        guard let scope = request.endpoint?.scope, let admission = request.admission else { throw .endpointNotFound }
        database = DatabaseAddress(container: place.container, environment: place.environment, scope: scope)
        var caller = Caller(admission, surface: request.surface)
        if request.surface == .native, let attempt = request.attempt.flatMap({ RequestAttempt($0) }) {
            caller.attempt = attempt
            // Tells the device that a repetition has no further effect.
            request.responseHeaders[HeaderName.attempt] = attempt.text
        }
        self.caller = caller
        query = request.query
        body = request.body
        uuid = request.uuid
        baseURL = request.baseURL ?? ""
        sender = caller.user?.recordName ?? request.address
        subject = request.subject
    }

    /// Returns the caller's user.
    ///
    /// - Throws: `authenticationRequired`.
    func user() throws(RequestFailure) -> UserID {
        guard let user = caller.user else { throw .userNeeded }
        return user
    }

    var limits: WireLimits { caller.surface == .native ? .native : .web }
}

extension Caller {
    /// The caller of the rules that an admission makes.
    init(_ admission: AuthenticatedCaller, surface: ClientKind) {
        self.init(
            user: admission.user, deviceID: admission.deviceID, surface: surface, isServerKey: admission.isServerKey,
            keychain: admission.keychain, keychainGeneration: admission.keychainGeneration)
    }
}
