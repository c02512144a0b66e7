import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Foundation

/// The endpoints that sign devices and browsers in and out; an addition to CloudKit Web Services.
///
/// `POST /device/1/{container}/{environment}/sessions/…` with `ckAPIToken` in the query:
/// - `prepare {email}` → `{salt, rounds}`: how to derive the proof from the password.
/// - `create {email, proof, deviceName, lifetime, wantsKeychain, keepsAccount}` → `{ckWebAuthToken, userRecordName, deviceID, expires}` and, with the
///   lifetime `device`, `deviceSecret` and, if the account has one, `keychain {generation, passwordWrap, identity}`; the keychain also for a
///   browser with `wantsKeychain`, unless the account's owner forbids it (`withholdsKeychain`).
///   `keepsAccount` takes back the wish that the account is deleted; without it such an account is refused.
///   Lifetimes are `session`, `persistent`, `device`.
/// - `create {deviceID, deviceSecret}` → the same for a device that is signed in and opens another container.
/// - `create {passkey, deviceName, lifetime, wantsKeychain, keepsAccount}` → the same for a browser, with `keychain.passkeyWrap` if the passkey
///   opens the account's keys; `passkey` is as in `PasskeyEndpoints`.
/// - `create {ticket, deviceName, lifetime, wantsKeychain, keepsAccount}` → the same after `providers/finish`.
/// - `delete {deviceID, deviceSecret}` → `{}`; without both, the session of the request's web token ends.
///
/// Bytes travel as base 64, `expires` as milliseconds since 1970.
struct SessionEndpoints {
    var signIn: DeviceSignIn
    var cloud: Cloud
    var changes: AccountChanges

    func prepare(_ call: DeviceCall) async throws -> EndpointResponse {
        let body = try SmallJSON.decode(PrepareBody.self, from: call.body)
        let derivation = try await signIn.prepare(email: body.email)
        return try .json(DerivationBody(salt: Data(derivation.salt), rounds: derivation.rounds))
    }

    func create(_ call: DeviceCall) async throws -> EndpointResponse {
        try .json(try await create(try SmallJSON.decode(CreateBody.self, from: call.body), call))
    }

    func delete(_ call: DeviceCall) async throws -> EndpointResponse {
        guard try SmallJSON.decode(EndedBody.self, from: call.body).deviceID != nil else {
            guard let id = call.sessionID else { throw RequestFailure.userNeeded }
            try await changes.end(id)
            return .emptyObject
        }
        let device = try SmallJSON.decode(DeviceBody.self, from: call.body).device
        try await changes.after(device) { try await signIn.end(device) }
        return .emptyObject
    }

    private func create(_ body: CreateBody, _ call: DeviceCall) async throws -> SessionBody {
        let grant: DeviceSignIn.Grant
        if let deviceID = body.deviceID, let secret = body.deviceSecret {
            grant = try await signIn.resume(DeviceKey(id: deviceID, secret: Array(secret)), place: call.place)
        } else if let passkey = body.passkey {
            grant = try await signIn.create(try body.opening(call), passkey: try passkey.assertion(call))
        } else if let ticket = body.ticket {
            grant = try await signIn.create(try body.opening(call), ticket: ticket)
        } else if let email = body.email, let proof = body.proof {
            let lifetime = try body.sessionLifetime
            grant = try await signIn.create(
                email: email, proof: Array(proof), deviceName: body.deviceName ?? "", lifetime: lifetime,
                place: call.place, address: call.address, wantsKeychain: body.wantsKeychain ?? false,
                keepsAccount: body.keepsAccount ?? false)
        } else {
            throw RequestFailure(
                .badRequest, "nothing to sign in with",
                remedy: "Send email and proof, a passkey, a ticket, or deviceID and deviceSecret.")
        }
        call.subject.user = grant.user.recordName
        if call.place.container != Pages.accountContainer {
            try await CreateUserRecords(cloud).run(grant.user, in: call.place.container, call.place.environment)
        }
        return SessionBody(
            ckWebAuthToken: grant.webAuthToken, userRecordName: grant.user.recordName, deviceID: grant.deviceID,
            deviceSecret: grant.deviceSecret.map { Data($0) }, expires: grant.expires,
            email: body.passkey == nil && body.ticket == nil ? nil : grant.email,
            keychain: grant.keychain.map { KeychainBody($0, passkeyWrap: grant.passkeyWrap) },
            withholdsKeychain: grant.withholdsKeychain ? true : nil)
    }

    private struct EndedBody: Decodable {
        var deviceID: String?
    }

    private struct PrepareBody: Decodable {
        var email: String
    }

    private struct DerivationBody: Encodable {
        var salt: Data
        var rounds: Int
    }

    private struct CreateBody: Decodable {
        var email: String?
        var proof: Data?
        var deviceName: String?
        var lifetime: String?
        var deviceID: String?
        var deviceSecret: Data?
        var wantsKeychain: Bool?
        var keepsAccount: Bool?
        var passkey: AssertionBody?
        var ticket: String?

        func opening(_ call: DeviceCall) throws(RequestFailure) -> DeviceSignIn.Opening {
            DeviceSignIn.Opening(
                deviceName: deviceName ?? "", lifetime: try sessionLifetime, place: call.place, address: call.address,
                wantsKeychain: wantsKeychain ?? false, keepsAccount: keepsAccount ?? false)
        }

        var sessionLifetime: SessionLifetime {
            get throws(RequestFailure) {
                guard let lifetime = SessionLifetime(rawValue: lifetime ?? SessionLifetime.session.rawValue) else {
                    throw RequestFailure(
                        .badRequest, "unknown lifetime", remedy: "It is session, persistent or device.")
                }
                return lifetime
            }
        }
    }

    private struct KeychainBody: Encodable {
        var generation: Int
        var passwordWrap: Data
        var identity: Data
        var passkeyWrap: Data?

        init(_ keychain: Keychain, passkeyWrap: [UInt8]?) {
            self.passkeyWrap = passkeyWrap.map { Data($0) }
            generation = keychain.generation
            passwordWrap = Data(keychain.passwordWrap)
            identity = Data(keychain.identity)
        }
    }

    private struct SessionBody: Encodable {
        var ckWebAuthToken: String
        var userRecordName: String
        var deviceID: String
        var deviceSecret: Data?
        var expires: Int64
        var email: String?
        var keychain: KeychainBody?
        var withholdsKeychain: Bool?
    }
}
