import CloudKitModel
import CloudKitRecordLayer
import Crypto
import Foundation
import TextEncodings
import WebCredentials

/// Signs people in whom a provider vouches for (OpenID Connect, authorization code with PKCE).
///
/// What belongs to one sign-in is in the sealed state that travels through the provider, and bound to a secret that stays in the browser:
/// a link that somebody else has prepared signs nobody in.
package struct ProviderSignIn: Sendable {
    let store: AccountStore
    let provider: any SignInProvider
    let proofLimiter: ProofLimiter
    /// The address of the page to which the provider sends browsers back.
    let redirect: String
    /// Notes why a provider's word was not accepted, for the operator.
    let report: @Sendable (String) -> Void

    /// Creates the sign-in by a provider.
    ///
    /// - Parameters:
    ///   - store: The accounts.
    ///   - provider: The provider.
    ///   - publicURL: The address of the cloud, as the operator has set it: never one that a request names.
    ///   - proofLimiter: The one count of wrong proofs.
    ///   - report: Notes why a provider's word was not accepted, for the operator.
    package init(
        store: AccountStore, provider: any SignInProvider, publicURL: String, proofLimiter: ProofLimiter,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.store = store
        self.provider = provider
        self.proofLimiter = proofLimiter
        self.report = report
        redirect = publicURL + Self.path
    }

    /// The path of the page to which the provider sends browsers back.
    package static let path = "/provider"
    /// Milliseconds for which a person may be at the provider.
    static let stateLifetime: Int64 = 15 * 60_000
    /// Milliseconds for which a ticket is accepted.
    static let ticketLifetime: Int64 = 15 * 60_000
    private static let textBytesMax = 4096
    private static let secretBytes = 32

    /// The name of the provider.
    package var label: String { provider.label }

    private struct State: Codable {
        /// Hash of the browser's secret.
        var binding: [UInt8]
        var expires: Int64
        var id: String
        /// Of a program on the person's machine, to which the page hands the code; nil: the page goes on by itself.
        var port: UInt16?
    }

    private var states: SealedTokenCodec {
        SealedTokenCodec(purpose: "welkin provider state 1", in: store.serverEnvironment)
    }

    /// Returns the address at the provider to which a browser goes.
    ///
    /// - Parameters:
    ///   - binding: SHA-256 of a secret that the browser keeps, or the program.
    ///   - port: Where a program listens on the person's machine (RFC 8252): the page hands it the code. It is behind the sealed state, for the
    ///     page to read; the code is worth nothing without the secret.
    /// - Throws: `RequestFailure` `badRequest`, `tryAgainLater`.
    package func begin(binding: [UInt8], port: UInt16? = nil) async throws -> String {
        guard binding.count == Self.secretBytes else { throw RequestFailure(.badRequest, "a binding has 32 bytes") }
        let state = State(
            binding: binding, expires: store.serverEnvironment.now() + Self.stateLifetime,
            id: store.serverEnvironment.randomHex(bytes: 16), port: port)
        let text = try states.sealText(Array(try JSONEncoder().encode(state))) + (port.map { "~\($0)" } ?? "")
        do {
            return try await provider.authorizationURL(request(text, state))
        } catch {
            report(String(describing: error))
            throw Self.unreachable
        }
    }

    /// Asks the provider about a person who came back.
    ///
    /// - Parameters:
    ///   - state: As the provider returned it.
    ///   - code: As the provider returned it.
    ///   - secret: The secret that the browser kept.
    ///   - address: The network address that sends the request.
    /// - Returns: The ticket, sealed and as it is.
    /// - Throws: `RequestFailure` `authenticationFailed` for a state of another browser, an old or a used one, and for a word of the provider
    ///   that does not hold; `throttled`.
    package func finish(
        state text: String, code: String, secret: [UInt8], address: String
    ) async throws -> (sealed: String, ticket: ProviderTicket) {
        let now = store.serverEnvironment.now()
        // A name of its own: failures of some keep nobody else from signing in.
        let name = "provider \(SHA256.hash(data: Array(text.utf8)).hex)"
        return try await proofLimiter.count(email: name, address: address, now: now, in: store) {
            let parts = text.split(separator: "~", maxSplits: 1, omittingEmptySubsequences: false)
            guard let bytes = states.openText(String(parts[0]), bytesMax: Self.textBytesMax),
                let state = try? JSONDecoder().decode(State.self, from: Data(bytes)), now < state.expires,
                parts.dropFirst().first.map(String.init) == state.port.map({ String($0) }),
                isEqualInConstantTime(Array(SHA256.hash(data: secret)), state.binding),
                (1...Self.textBytesMax).contains(code.utf8.count),
                try await store.write({ transaction in
                    try await transaction.spend("provider " + state.id, until: state.expires, now: now)
                })
            else { throw Self.stateRefused }
            let token: IDToken
            do {
                token = try await provider.identity(code: code, request(text, state), now: now)
            } catch {
                report(String(describing: error))
                throw Self.wordRefused
            }
            let ticket = ProviderTicket(
                issuer: token.issuer, subject: token.subject,
                email: token.email.flatMap { EmailAddress($0) }?.normalised,
                isEmailVerified: token.isEmailVerified, name: token.name.map { String($0.prefix(200)) },
                expires: now + Self.ticketLifetime, id: store.serverEnvironment.randomHex(bytes: 16))
            return (try ProviderTickets(store.serverEnvironment).seal(ticket), ticket)
        }
    }

    /// The nonce and the secret of PKCE follow from the state, which nobody can make or read but this cloud.
    private func request(_ text: String, _ state: State) -> ProviderRequest {
        func derived(_ purpose: String) -> String {
            let key = SymmetricKey(data: store.serverEnvironment.secret)
            let code = HMAC<SHA256>.authenticationCode(
                for: Array("welkin provider \(purpose) 1:\(state.id)".utf8), using: key)
            return Base64URL.encode(Array(code))
        }
        return ProviderRequest(
            redirect: redirect, state: text, nonce: derived("nonce"), verifier: derived("verifier"))
    }

    private static let unreachable = RequestFailure(
        .tryAgainLater, "the provider cannot be reached", remedy: "Try again, or sign in another way.")
    private static let stateRefused = RequestFailure(
        .authenticationFailed, "this sign-in was begun elsewhere, is used or took too long", remedy: "Begin again.")
    private static let wordRefused = RequestFailure(
        .authenticationFailed, "the provider did not confirm who you are",
        remedy: "Begin again. If it happens again, the operator of this cloud finds the reason in its log.")
}

/// Seals and opens tickets.
struct ProviderTickets: Sendable {
    private let codec: SealedTokenCodec
    private static let bytesMax = 8192

    init(_ serverEnvironment: ServerEnvironment) {
        codec = SealedTokenCodec(purpose: "welkin provider ticket 1", in: serverEnvironment)
    }

    func seal(_ ticket: ProviderTicket) throws -> String {
        try codec.sealText(Array(try JSONEncoder().encode(ticket)))
    }

    /// Opens a ticket.
    ///
    /// - Throws: `RequestFailure` `authenticationFailed` for one that is not the cloud's, or old.
    func open(_ text: String, now: Int64) throws(RequestFailure) -> ProviderTicket {
        guard let bytes = codec.openText(text, bytesMax: Self.bytesMax),
            let ticket = try? JSONDecoder().decode(ProviderTicket.self, from: Data(bytes)), now < ticket.expires
        else { throw .ticketInvalid }
        return ticket
    }
}

extension RequestFailure {
    static let ticketInvalid = RequestFailure(
        .authenticationFailed, "the sign-in at the provider is used or took too long", remedy: "Begin again.")
    static let noAccountOfProvider = RequestFailure(
        .itemNotFound, "you have no account at this cloud yet", remedy: "Make one on the cloud's page /account.")
}

extension AccountStore {
    /// Returns whether a person of a provider has an account.
    package func hasAccount(_ ticket: ProviderTicket) async throws -> Bool {
        try await read { try await $0.account(ticket) } != nil
    }

    /// Returns the providers' people who sign in to an account, oldest first.
    package func providerIdentities(ofAccount id: String) async throws -> [ProviderIdentity] {
        try await read { try await $0.providerIdentities(of: id) }
    }

    /// Lets a person at a provider sign in to an account whose person agrees.
    ///
    /// - Parameters:
    ///   - text: The sealed ticket, which is used up.
    ///   - proof: Of the person.
    ///   - sender: A device of the account, or a browser on a page of the cloud.
    ///   - address: The network address that sends the request.
    ///   - proofLimiter: The one count of wrong proofs.
    /// - Throws: `RequestFailure` `authenticationFailed`, `recordExists` for a person who has an account, `itemLimitExceeded`.
    package func link(
        ticket text: String, proof: AccountProof, by sender: AccountSender, address: String,
        _ proofLimiter: ProofLimiter
    ) async throws {
        let now = serverEnvironment.now()
        let ticket = try ProviderTickets(serverEnvironment).open(text, now: now)
        try await agreed(proof, by: sender, address: address, proofLimiter) { transaction, _, account in
            guard try await transaction.account(ticket) == nil else {
                throw RequestFailure(
                    .recordExists, "this person of the provider has an account already",
                    remedy: "Sign in to it, and end the connection there.")
            }
            guard try await transaction.providerIdentities(of: account.id).count < Self.providerIdentitiesMax else {
                throw RequestFailure(
                    .itemLimitExceeded, "an account has at most \(Self.providerIdentitiesMax) connections")
            }
            guard try await transaction.spend("ticket " + ticket.id, until: ticket.expires, now: now) else {
                throw RequestFailure.ticketInvalid
            }
            try transaction.set(
                ProviderIdentity(issuer: ticket.issuer, subject: ticket.subject, account: account.id, created: now))
        }
    }

    /// Ends that a person at a provider signs in to an account.
    ///
    /// - Parameters:
    ///   - id: The name of the identity.
    ///   - sender: A device of the account, or a browser on a page of the cloud.
    /// - Throws: `RequestFailure` `itemNotFound`; `badRequest` for the last way to sign in.
    package func unlink(identity id: String, by sender: AccountSender) async throws {
        let now = serverEnvironment.now()
        try await write { transaction in
            let account = try await transaction.owner(of: sender, now: now).account
            let identities = try await transaction.providerIdentities(of: account.id)
            guard let identity = identities.first(where: { $0.id == id }) else {
                throw RequestFailure(.itemNotFound, "the account has no such connection")
            }
            guard account.hasPassword || identities.count > 1 else {
                throw RequestFailure(
                    .badRequest, "it is the account's only way to sign in", remedy: "Set a password before.")
            }
            transaction.clear(identity)
        }
    }

    private static let providerIdentitiesMax = 10
}
