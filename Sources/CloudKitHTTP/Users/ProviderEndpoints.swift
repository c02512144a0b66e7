import CloudKitAccounts
import CloudKitModel
import Foundation

/// The endpoints for signing in at a provider of identities (OpenID Connect); bytes travel as base 64.
///
/// - `providers/begin {binding, port?}` → `{url}`: where a browser goes; `binding` is the SHA-256 of 32 bytes that it keeps. With `port`, of a
///   program on the person's machine that keeps them, the page hands state and code to `http://127.0.0.1:port/`.
/// - `providers/finish {state, code, secret}` → `{ticket, hasAccount, isSignUpOpen, email?, isEmailVerified, name?}`: asks the provider about the
///   person who came back. `sessions/create {ticket}` signs them in, `accounts/create {ticket}` makes their account.
/// - `providers/link {ticket, proof}` → `{}`: the person of the ticket signs in to this account from now on. `wordsProof` or `passkey` may take
///   the place of `proof`.
/// - `providers/unlink {id}` → `{}`.
struct ProviderEndpoints {
    /// nil: the cloud has no provider.
    var signIn: ProviderSignIn?
    var store: AccountStore
    var proofLimiter: ProofLimiter
    var isSignUpOpen: Bool

    func begin(_ call: DeviceCall) async throws -> EndpointResponse {
        let body = try SmallJSON.decode(BeginBody.self, from: call.body)
        return try .json(["url": try await provider.begin(binding: Array(body.binding), port: body.port)])
    }

    func finish(_ call: DeviceCall) async throws -> EndpointResponse {
        let body = try SmallJSON.decode(FinishBody.self, from: call.body)
        let (sealed, ticket) = try await provider.finish(
            state: body.state, code: body.code, secret: Array(body.secret), address: call.address)
        return try .json(
            FinishAnswer(
                ticket: sealed, hasAccount: try await store.hasAccount(ticket), isSignUpOpen: isSignUpOpen,
                email: ticket.email, isEmailVerified: ticket.isEmailVerified, name: ticket.name))
    }

    func link(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: store)
        let proof = try SmallJSON.decode(AccountProofBody.self, from: call.body).accountProof(call)
        let ticket = try SmallJSON.decode(TicketBody.self, from: call.body).ticket
        try await store.link(ticket: ticket, proof: proof, by: sender, address: call.address, proofLimiter)
        return .emptyObject
    }

    func unlink(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: store)
        let id = try SmallJSON.decode(UnlinkBody.self, from: call.body).id
        try await store.unlink(identity: id, by: sender)
        return .emptyObject
    }

    private var provider: ProviderSignIn {
        get throws(RequestFailure) {
            guard let signIn else {
                throw RequestFailure(
                    .badRequest, "this cloud has no provider of identities",
                    remedy: "Sign in with a password or a passkey.")
            }
            return signIn
        }
    }

    private struct BeginBody: Decodable {
        var binding: Data
        var port: UInt16?
    }

    private struct FinishBody: Decodable {
        var state: String
        var code: String
        var secret: Data
    }

    private struct FinishAnswer: Encodable {
        var ticket: String
        var hasAccount: Bool
        var isSignUpOpen: Bool
        var email: String?
        var isEmailVerified: Bool
        var name: String?
    }

    private struct TicketBody: Decodable {
        var ticket: String
    }

    private struct UnlinkBody: Decodable {
        var id: String
    }
}
