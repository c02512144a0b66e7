import CloudKitAccounts
import CloudKitModel
import Foundation
import WebCredentials

/// The endpoints for passkeys (WebAuthn); bytes travel as base 64.
///
/// - `passkeys/begin {purpose?}` → `{challenge, party, user?, email?, name?, known?}`: `purpose` is `signIn`, or for a sender who is signed in
///   `agreement` or `registration`; `known` are the identifiers of the account's passkeys. A challenge is accepted once, for ten minutes.
/// - `passkeys/create {name, clientData, attestation, wrap?, generation?, proof}` → `{passkey}`: adds a passkey; `wrap` is the account secret
///   under a key from its PRF. `wordsProof` or `passkey` may take the place of `proof`.
/// - `passkeys/delete {id}` → `{}`.
/// - `accounts/methods {}` → `{hasPassword, passkeys: [{id, name, created, used?, isBackedUp, opensKeys}], provider?, connections: [{id, issuer,
///   created}]}`: how the person signs in, and the name of the cloud's provider of identities.
///
/// All are for devices, which send `deviceID` and `deviceSecret`, and for browsers on a page of the cloud, which send their web token.
struct PasskeyEndpoints {
    var passkeys: Passkeys
    var store: AccountStore
    /// The name of the provider of identities; nil: the cloud has none.
    var providerLabel: String?

    func begin(_ call: DeviceCall) async throws -> EndpointResponse {
        let purpose = try SmallJSON.decode(BeginBody.self, from: call.body).purpose ?? .signIn
        let party = try call.relyingParty.id
        let beginning =
            purpose == .signIn
            ? passkeys.beginSignIn()
            : try await passkeys.begin(isNew: purpose == .registration, by: try call.accountSender(in: store))
        return try .json(
            Beginning(
                challenge: Data(beginning.challenge), party: party, user: beginning.userHandle.map { Data($0) },
                email: beginning.account?.email, name: beginning.account?.name,
                known: beginning.account.map { _ in beginning.known.map { Data($0.id) } }))
    }

    func create(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: store)
        let body = try SmallJSON.decode(CreateBody.self, from: call.body)
        let proof = try SmallJSON.decode(AccountProofBody.self, from: call.body)
        let ceremony = PasskeyCeremony(clientData: Array(body.clientData), party: try call.relyingParty)
        let passkey = try await passkeys.add(
            Passkeys.Addition(
                name: body.name, ceremony: ceremony, attestation: Array(body.attestation),
                wrap: body.wrap.map { Array($0) }, generation: proof.generation),
            proof: try proof.accountProof(call), by: sender, address: call.address)
        let account = try await store.sessions.owner(of: sender, now: store.serverEnvironment.now()).account
        return try .json(["passkey": Line(passkey, of: account)])
    }

    func delete(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: store)
        try await passkeys.remove(Array(try SmallJSON.decode(DeleteBody.self, from: call.body).id), by: sender)
        return .emptyObject
    }

    func methods(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: store)
        let account = try await store.sessions.owner(of: sender, now: store.serverEnvironment.now()).account
        let lines = try await passkeys.list(ofAccount: account.id).map { Line($0, of: account) }
        let connections = try await store.providerIdentities(ofAccount: account.id)
        return try .json(
            Methods(
                hasPassword: account.hasPassword, passkeys: lines, provider: providerLabel,
                connections: connections.map { Connection(id: $0.id, issuer: $0.issuer, created: $0.created) }))
    }

    private enum Purpose: String, Decodable {
        case signIn, agreement, registration
    }

    private struct BeginBody: Decodable {
        var purpose: Purpose?
    }

    private struct Beginning: Encodable {
        var challenge: Data
        var party: String
        var user: Data?
        var email: String?
        var name: String?
        var known: [Data]?
    }

    private struct CreateBody: Decodable {
        var name: String
        var clientData: Data
        var attestation: Data
        var wrap: Data?
    }

    private struct DeleteBody: Decodable {
        var id: Data
    }

    private struct Line: Encodable {
        var id: Data
        var name: String
        var created: Int64
        var used: Int64?
        var isBackedUp: Bool
        var opensKeys: Bool

        init(_ passkey: Passkey, of account: Account) {
            id = Data(passkey.id)
            name = passkey.name
            created = passkey.created
            used = passkey.used
            isBackedUp = passkey.isBackedUp
            opensKeys = passkey.opensKeys(of: account)
        }
    }

    private struct Connection: Encodable {
        var id: String
        var issuer: String
        var created: Int64
    }

    private struct Methods: Encodable {
        var hasPassword: Bool
        var passkeys: [Line]
        var provider: String?
        var connections: [Connection]
    }
}

/// The use of a passkey in a body: its identifier, and what browser and authenticator say.
struct AssertionBody: Decodable {
    var id: Data
    var clientData: Data
    var authenticatorData: Data
    var signature: Data
    var userHandle: Data?

    /// Returns the assertion, for the cloud at the address that the request names.
    ///
    /// - Throws: `RequestFailure` `badRequest` at an address without passkeys.
    func assertion(_ call: DeviceCall) throws -> PasskeyAssertion {
        PasskeyAssertion(
            id: Array(id), ceremony: PasskeyCeremony(clientData: Array(clientData), party: try call.relyingParty),
            authenticatorData: Array(authenticatorData), signature: Array(signature),
            userHandle: userHandle.map { Array($0) })
    }
}

extension DeviceCall {
    /// The cloud as authenticators know it.
    ///
    /// - Throws: `RequestFailure` `badRequest` at an address without passkeys.
    var relyingParty: RelyingParty {
        get throws(RequestFailure) {
            guard let party else {
                throw RequestFailure(
                    .badRequest, "there are no passkeys at this address of the cloud",
                    remedy: "Open the cloud by a host name and https, or by http://localhost.")
            }
            return party
        }
    }
}
