import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Foundation

/// The endpoints for an account's keychain, of which the cloud sees wrapped forms alone; bytes travel as base 64.
///
/// - `keychain/get {deviceID, deviceSecret}` → `{generation, exists, isOutdated, identity}`.
/// - `keychain/create {deviceID, deviceSecret, passwordWrap, recoveryWrap, recoveryProof, identity}` → `{generation}`; an
///   account that has one: `conflict`.
/// - `keychain/rewrap {deviceID, deviceSecret, proof, generation, passwordWrap, recoveryWrap, recoveryProof}` → `{}`: the
///   last three as needed; `wordsProof`, of the present recovery words, or `passkey` may take the place of `proof`.
/// - `keychain/reset {…as create, proof, generation}` → `{generation}`: other keys instead of those of `generation`;
///   all devices have to sign in again.
/// - `keychain/recovery {email, recoveryProof}` → `{generation, recoveryWrap, identity}`.
/// - `keychain/recover {email, recoveryProof, generation, newProof, salt, rounds, passwordWrap}` → `{}`.
/// - `keychain/open {proof}` → `{generation, wrap, identity}`: the account secret, wrapped for what the person shows, for a browser on a page of
///   the cloud that is signed in without keys.
///
/// `passwordWrap` is left out for an account without a password.
///
/// `keychain/create` and `keychain/rewrap` are also for a browser that is signed in on a page of the cloud, which sends its web token in
/// place of `deviceID` and `deviceSecret`.
struct KeychainEndpoints {
    var keychains: Keychains
    var cloud: Cloud
    var changes: AccountChanges

    func get(_ call: DeviceCall) async throws -> EndpointResponse {
        let status = try await keychains.status(for: try SmallJSON.decode(DeviceBody.self, from: call.body).device)
        return try .json(
            StatusBody(
                generation: status.generation, exists: status.hasKeychain, isOutdated: status.isOutdated,
                identity: status.identity.map { Data($0) }))
    }

    func create(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: changes.sessions.accounts)
        let offer = try SmallJSON.decode(OfferBody.self, from: call.body).offer
        let generation = try await changes.after(sender) { try await keychains.create(offer, by: sender) }
        return try .json(["generation": generation])
    }

    func rewrap(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: changes.sessions.accounts)
        let proof = try SmallJSON.decode(AccountProofBody.self, from: call.body)
        let body = try SmallJSON.decode(RewrapBody.self, from: call.body)
        try await keychains.rewrap(
            passwordWrap: body.passwordWrap.map { Array($0) }, recovery: try body.recovery,
            generation: proof.generation ?? 0, proof: try proof.accountProof(call), by: sender, address: call.address)
        return .emptyObject
    }

    func reset(_ call: DeviceCall) async throws -> EndpointResponse {
        let device = try SmallJSON.decode(DeviceBody.self, from: call.body).device
        let proof = try SmallJSON.decode(AccountProofBody.self, from: call.body)
        let offer = try SmallJSON.decode(OfferBody.self, from: call.body).offer
        let generation = try await changes.after(device) {
            try await keychains.reset(
                to: offer, replacing: proof.generation ?? 0, proof: try proof.accountProof(call), by: device,
                address: call.address)
        }
        // The reset is done; zones that are not marked now are marked later by the cloud's outbox, and no device uses
        // them before.
        try? await FinishKeyResets(cloud).run()
        return try .json(["generation": generation])
    }

    func open(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: changes.sessions.accounts)
        let proof = try SmallJSON.decode(AccountProofBody.self, from: call.body).accountProof(call)
        let opening = try await changes.after(sender) {
            try await keychains.open(by: sender, proof: proof, address: call.address)
        }
        return try .json(
            OpeningAnswer(
                generation: opening.keychain.generation, wrap: Data(opening.wrap),
                identity: Data(opening.keychain.identity)))
    }

    func recovery(_ call: DeviceCall) async throws -> EndpointResponse {
        let body = try SmallJSON.decode(RecoveryBody.self, from: call.body)
        let recovery = try await keychains.recovery(
            email: body.email, proof: Array(body.recoveryProof), address: call.address)
        return try .json(
            RecoveryAnswer(
                generation: recovery.generation, recoveryWrap: Data(recovery.recoveryWrap),
                identity: Data(recovery.identity)))
    }

    func recover(_ call: DeviceCall) async throws -> EndpointResponse {
        let body = try SmallJSON.decode(RecoveryBody.self, from: call.body)
        let password = try SmallJSON.decode(NewPasswordBody.self, from: call.body).password
        try await keychains.recover(
            email: body.email, proof: Array(body.recoveryProof), password: password, generation: body.generation ?? 0,
            address: call.address)
        return .emptyObject
    }

    private struct StatusBody: Encodable {
        var generation: Int
        var exists: Bool
        var isOutdated: Bool
        var identity: Data?
    }

    private struct OfferBody: Decodable {
        var passwordWrap: Data?
        var recoveryWrap: Data
        var recoveryProof: Data
        var identity: Data

        var offer: KeychainUpload {
            KeychainUpload(
                passwordWrap: Array(passwordWrap ?? Data()),
                recovery: RecoveryUpload(wrap: Array(recoveryWrap), proof: Array(recoveryProof)),
                identity: Array(identity))
        }
    }

    private struct RewrapBody: Decodable {
        var passwordWrap: Data?
        var recoveryWrap: Data?
        var recoveryProof: Data?

        var recovery: RecoveryUpload? {
            get throws(RequestFailure) {
                guard (recoveryWrap == nil) == (recoveryProof == nil) else {
                    throw RequestFailure(.badRequest, "recoveryWrap and recoveryProof go together")
                }
                guard let recoveryWrap, let recoveryProof else { return nil }
                return RecoveryUpload(wrap: Array(recoveryWrap), proof: Array(recoveryProof))
            }
        }
    }

    private struct RecoveryBody: Decodable {
        var email: String
        var recoveryProof: Data
        var generation: Int?
    }

    private struct OpeningAnswer: Encodable {
        var generation: Int
        var wrap: Data
        var identity: Data
    }

    private struct RecoveryAnswer: Encodable {
        var generation: Int
        var recoveryWrap: Data
        var identity: Data
    }
}
