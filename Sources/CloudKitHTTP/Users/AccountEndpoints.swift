import CloudKitAccounts
import CloudKitModel
import Foundation

/// The endpoints that create accounts and change their passwords; bytes travel as base 64.
///
/// - `accounts/create {email, name, proof, salt, rounds}` → `{}`: sign-up, where it is open.
/// - `accounts/password {deviceID, deviceSecret, proof, newProof, salt, rounds, generation, passwordWrap}` → `{}`: another
///   password, known by the old one's proof; `generation` and `passwordWrap` where the account has a keychain.
struct AccountEndpoints {
    var signUp: SignUp
    var keychains: Keychains

    func create(_ call: DeviceCall) async throws -> EndpointResponse {
        let body = try SmallJSON.decode(CreateBody.self, from: call.body)
        _ = try await signUp.create(
            email: body.email, name: body.name ?? "", proof: Array(body.proof),
            derivation: PasswordDerivation(salt: Array(body.salt), rounds: body.rounds), address: call.address)
        return .emptyObject
    }

    func changePassword(_ call: DeviceCall) async throws -> EndpointResponse {
        let device = try SmallJSON.decode(DeviceBody.self, from: call.body).device
        let proof = try SmallJSON.decode(ProofBody.self, from: call.body)
        let password = try SmallJSON.decode(NewPasswordBody.self, from: call.body)
        try await keychains.changePassword(
            to: password.password, generation: proof.generation ?? 0, proof: Array(proof.proof), by: device,
            address: call.address)
        return .emptyObject
    }

    private struct CreateBody: Decodable {
        var email: String
        var name: String?
        var proof: Data
        var salt: Data
        var rounds: Int
    }
}

/// The proof of the password, with the generation of the keychain that the device knows.
struct ProofBody: Decodable {
    var proof: Data
    var generation: Int?
}

/// A password that is to be set.
struct NewPasswordBody: Decodable {
    var newProof: Data
    var salt: Data
    var rounds: Int
    var passwordWrap: Data?

    var password: NewPassword {
        NewPassword(
            proof: Array(newProof), derivation: PasswordDerivation(salt: Array(salt), rounds: rounds),
            wrap: passwordWrap.map { Array($0) })
    }
}
