import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Foundation

/// A call below `/device`: additions to CloudKit Web Services for devices and their owners.
struct DeviceCall {
    var endpoint: Endpoint
    var place: DeviceSignIn.Place
    var body: [UInt8]
    /// Where the request comes from.
    var address: String
    /// Whose web token came along; nil when none did.
    var user: UserID?

    func answer(_ body: some Encodable) throws -> Answer { Answer(body: try SmallJSON.encode(body)) }

    /// Nothing more to say.
    var done: Answer { Answer(body: Array("{}".utf8)) }
}

/// How a signed-in device shows who it is, among whatever else a body holds.
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

    /// Runs a change by a device and makes the process forget what it knew of the account.
    func after<Value>(_ device: DeviceKey, _ change: () async throws -> Value) async throws -> Value {
        let account = try await sessions.session(device, now: now()).account
        defer { authenticator.forget(account: account) }
        return try await change()
    }
}
