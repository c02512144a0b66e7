import CloudKitAccounts
import CloudKitModel
import Foundation

/// The endpoints that create accounts, change their passwords and delete them; bytes travel as base 64.
///
/// - `accounts/create {email, name, proof, salt, rounds, invitation?}` → `{}`: sign-up, where it is open, or with the code of an invitation.
/// - `accounts/password {deviceID, deviceSecret, proof, newProof, salt, rounds, generation, passwordWrap}` → `{}`: another
///   password, known by the old one's proof; `generation` and `passwordWrap` where the account has a keychain.
/// - `accounts/delete {deviceID, deviceSecret, proof?}` → `{graceSeconds, due?}`: has the account deleted when the time is over, and signs
///   out all of its devices; without `proof` only the time is returned.
///
/// `accounts/password` and `accounts/delete` are also for a browser that is signed in on a page of the cloud, which sends its web token in
/// place of `deviceID` and `deviceSecret`.
struct AccountEndpoints {
    var signUp: SignUp
    var keychains: Keychains
    var deletions: AccountDeletions
    var proofLimiter: ProofLimiter
    /// The time between the wish and the deletion.
    var deletionGrace: Duration
    var changes: AccountChanges
    /// nil: the cloud sends no mail.
    var mail: AddressMail?

    func create(_ call: DeviceCall) async throws -> EndpointResponse {
        let body = try SmallJSON.decode(CreateBody.self, from: call.body)
        let account = try await signUp.create(
            email: body.email, name: body.name ?? "", proof: Array(body.proof),
            derivation: PasswordDerivation(salt: Array(body.salt), rounds: body.rounds), address: call.address,
            invitation: body.invitation)
        // The account is made: a mail that does not leave is in the operator's log, and the person can have another one sent.
        if let mail, !account.isEmailProved { try? await mail.sendLink(toAccount: account.id) }
        return .emptyObject
    }

    func changePassword(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: changes.sessions.accounts)
        let proof = try SmallJSON.decode(ProofBody.self, from: call.body)
        let password = try SmallJSON.decode(NewPasswordBody.self, from: call.body)
        try await keychains.changePassword(
            to: password.password, generation: proof.generation ?? 0, proof: Array(proof.proof), by: sender,
            address: call.address)
        return .emptyObject
    }

    func delete(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: changes.sessions.accounts)
        let seconds = deletionGrace.components.seconds
        guard let proof = try SmallJSON.decode(DeletionBody.self, from: call.body).proof else {
            _ = try await changes.sessions.owner(of: sender, now: changes.now())
            return try .json(DeletionAnswer(graceSeconds: seconds))
        }
        let deletion = try await changes.after(sender) {
            try await deletions.request(
                by: sender, proof: Array(proof), grace: seconds * 1000, address: call.address, proofLimiter)
        }
        return try .json(DeletionAnswer(graceSeconds: seconds, due: deletion.due))
    }

    private struct DeletionBody: Decodable {
        var proof: Data?
    }

    private struct DeletionAnswer: Encodable {
        var graceSeconds: Int64
        var due: Int64?
    }

    private struct CreateBody: Decodable {
        var email: String
        var name: String?
        var proof: Data
        var salt: Data
        var rounds: Int
        var invitation: String?
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
