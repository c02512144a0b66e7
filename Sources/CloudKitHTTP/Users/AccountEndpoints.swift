import CloudKitAccounts
import CloudKitModel
import Foundation

/// The endpoints that create accounts, change their passwords and delete them; bytes travel as base 64.
///
/// - `accounts/create {email, name, proof, salt, rounds, invitation?}` → `{}`: sign-up, where it is open, or with the code of an invitation.
/// - `accounts/create {ticket, email?, name?, invitation?}` → `{}`: the same for a person whom a provider vouches for, without a password;
///   `email` and `name` count where the provider has none.
/// - `accounts/password {deviceID, deviceSecret, proof, newProof, salt, rounds, generation, passwordWrap}` → `{}`: another
///   password, known by the old one's proof; `generation` and `passwordWrap` where the account has a keychain.
/// - `accounts/delete {deviceID, deviceSecret, proof?}` → `{graceSeconds, due?}`: has the account deleted when the time is over, and signs
///   out all of its devices; without `proof` only the time is returned.
///
/// `wordsProof`, of the recovery words, or `passkey` may take the place of `proof`.
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
        let account: Account
        if let ticket = try SmallJSON.decode(TicketBody.self, from: call.body).ticket {
            let body = try SmallJSON.decode(PersonBody.self, from: call.body)
            account = try await signUp.create(
                ticket: ticket, email: body.email, name: body.name, address: call.address, invitation: body.invitation)
        } else {
            let body = try SmallJSON.decode(CreateBody.self, from: call.body)
            account = try await signUp.create(
                email: body.email, name: body.name ?? "", proof: Array(body.proof),
                derivation: PasswordDerivation(salt: Array(body.salt), rounds: body.rounds), address: call.address,
                invitation: body.invitation)
        }
        // The account is made: a mail that does not leave is in the operator's log, and the person can have another one sent.
        if let mail, !account.isEmailProved { try? await mail.sendLink(toAccount: account.id) }
        return .emptyObject
    }

    func changePassword(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: changes.sessions.accounts)
        let proof = try SmallJSON.decode(AccountProofBody.self, from: call.body)
        let password = try SmallJSON.decode(NewPasswordBody.self, from: call.body)
        try await keychains.changePassword(
            to: password.password, generation: proof.generation ?? 0, proof: try proof.accountProof(call), by: sender,
            address: call.address)
        return .emptyObject
    }

    func delete(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: changes.sessions.accounts)
        let seconds = deletionGrace.components.seconds
        guard let proof = try SmallJSON.decode(AccountProofBody.self, from: call.body).found(call) else {
            _ = try await changes.sessions.owner(of: sender, now: changes.now())
            return try .json(DeletionAnswer(graceSeconds: seconds))
        }
        let deletion = try await changes.after(sender) {
            try await deletions.request(
                by: sender, proof: proof, grace: seconds * 1000, address: call.address, proofLimiter)
        }
        return try .json(DeletionAnswer(graceSeconds: seconds, due: deletion.due))
    }

    private struct DeletionAnswer: Encodable {
        var graceSeconds: Int64
        var due: Int64?
    }

    private struct TicketBody: Decodable {
        var ticket: String?
    }

    private struct PersonBody: Decodable {
        var email: String?
        var name: String?
        var invitation: String?
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

/// The proof of the person: by the password, by the recovery words, or by a passkey; with the generation of the keychain that the sender knows.
struct AccountProofBody: Decodable {
    var proof: Data?
    var wordsProof: Data?
    var passkey: AssertionBody?
    var generation: Int?

    /// Returns the proof; nil where there is none.
    func found(_ call: DeviceCall) throws -> AccountProof? {
        if let proof { return .password(Array(proof)) }
        if let wordsProof { return .recoveryWords(Array(wordsProof)) }
        return try passkey.map { .passkey(try $0.assertion(call)) }
    }

    /// Returns the proof.
    ///
    /// - Throws: `RequestFailure` `badRequest` for none.
    func accountProof(_ call: DeviceCall) throws -> AccountProof {
        guard let proof = try found(call) else {
            throw RequestFailure(
                .badRequest, "the proof is missing", remedy: "Send proof, wordsProof or passkey.")
        }
        return proof
    }
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
