import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Foundation
import WebCredentials

/// A request below `/device` that was let in: additions to CloudKit Web Services for devices and their owners.
struct DeviceCall {
    let place: DeviceSignIn.Place
    let body: [UInt8]
    /// The address of the client.
    let address: String
    /// The user whose web token came along; nil when none did.
    let user: UserID?
    /// The session of that web token; nil where it has ended.
    let sessionID: String?
    /// Whether a web token came along, of whatever session.
    let hasWebToken: Bool
    /// The cloud as the browser that sends the request reaches it; nil for an address at which browsers have no passkeys.
    let party: RelyingParty?
    /// What the request is about, for the log.
    let subject: RequestSubject

    init(_ request: IncomingRequest) throws(RequestFailure) {
        let place = try request.place
        guard case .app(let apiToken, let user) = request.sender else { throw .endpointNotFound }
        self.place = DeviceSignIn.Place(
            container: place.container, environment: place.environment, apiToken: apiToken)
        body = request.body
        address = request.address
        self.user = user?.user
        sessionID = user?.sessionID
        hasWebToken = user != nil
        party = request.baseURL.flatMap { RelyingParty(url: $0) }
        subject = request.subject
    }
}

/// The credentials of a signed-in device in a body, which may hold more.
struct DeviceBody: Decodable {
    var deviceID: String
    var deviceSecret: Data

    var device: DeviceKey { DeviceKey(id: deviceID, secret: Array(deviceSecret)) }
}

/// Makes changes to an account take effect in this process at once.
struct AccountChanges {
    var sessions: DeviceSessions
    var authenticator: Authenticator
    var now: @Sendable () -> Int64

    /// Runs a change by a device, then makes the process forget what it knew of the account.
    func after<Value>(_ device: DeviceKey, _ change: () async throws -> Value) async throws -> Value {
        let account = try await sessions.session(device, now: now()).account
        defer { authenticator.forget(account: account) }
        return try await change()
    }

    /// Runs a change by a device or browser, then makes the process forget what it knew of the account.
    ///
    /// - Parameters:
    ///   - sender: The sender of the request.
    ///   - change: The change.
    func after<Value>(_ sender: AccountSender, _ change: () async throws -> Value) async throws -> Value {
        let account = try await sessions.owner(of: sender, now: now()).account.id
        defer { authenticator.forget(account: account) }
        return try await change()
    }

    /// Ends the session of a browser.
    func end(_ id: String) async throws {
        guard let account = try await sessions.session(id)?.account else { return }
        defer { authenticator.forget(account: account) }
        try await sessions.end(id)
    }
}
