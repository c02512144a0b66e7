import CloudKitModel
import CloudKitRecordLayer
import Crypto
import WebCredentials

/// The use of a passkey, as a browser reports it.
package struct PasskeyAssertion: Hashable, Sendable {
    /// The authenticator's identifier of the key.
    package var id: [UInt8]
    /// What the browser saw.
    package var ceremony: PasskeyCeremony
    /// As the authenticator signed it.
    package var authenticatorData: [UInt8]
    /// The signature.
    package var signature: [UInt8]
    /// The handle of the account that the authenticator keeps; nil where it keeps none.
    package var userHandle: [UInt8]?

    /// Creates an assertion from its parts; they are not checked.
    package init(
        id: [UInt8], ceremony: PasskeyCeremony, authenticatorData: [UInt8], signature: [UInt8], userHandle: [UInt8]?
    ) {
        self.id = id
        self.ceremony = ceremony
        self.authenticatorData = authenticatorData
        self.signature = signature
        self.userHandle = userHandle
    }
}

/// What a challenge for a passkey is for.
package enum PasskeyPurpose: Hashable, Sendable {
    /// A sign-in, before it is known whose.
    case signIn
    /// The agreement of a person who is signed in, to what a session alone must not do.
    case agreement(account: String)
    /// A new passkey of an account.
    case registration(account: String)

    fileprivate var context: String {
        switch self {
        case .signIn: "sign-in"
        case .agreement(let account): "agreement \(account)"
        case .registration(let account): "registration \(account)"
        }
    }
}

/// Verifies passkeys against the challenges that this cloud gave out.
struct PasskeyVerifier: Sendable {
    private let challenges: OneTimeTokens
    private let secret: SymmetricKey

    init(_ serverEnvironment: ServerEnvironment) {
        challenges = OneTimeTokens(purpose: "welkin passkey challenge 1", in: serverEnvironment)
        secret = SymmetricKey(data: serverEnvironment.secret)
    }

    /// Returns a new challenge.
    func challenge(for purpose: PasskeyPurpose, now: Int64) -> [UInt8] {
        challenges.make(for: purpose.context, now: now)
    }

    /// Returns the handle by which authenticators know an account; it says nothing of the person.
    func userHandle(ofAccount id: String) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array("passkey user:\(id)".utf8), using: secret))
    }

    /// Verifies the use of a passkey, and notes it.
    ///
    /// - Parameters:
    ///   - assertion: As the browser reports it.
    ///   - purpose: What the challenge has to be for.
    ///   - now: Milliseconds since 1970.
    ///   - transaction: Has the passkeys.
    /// - Returns: The passkey.
    /// - Throws: `RequestFailure` `authenticationFailed`, the same for an unknown passkey and for anything that is wrong.
    func verify(
        _ assertion: PasskeyAssertion, for purpose: PasskeyPurpose, now: Int64, in transaction: inout StorageWriter
    ) async throws -> Passkey {
        guard var passkey = try await transaction.passkey(assertion.id), passkey.party == assertion.ceremony.party.id,
            assertion.userHandle.map({ isEqualInConstantTime($0, userHandle(ofAccount: passkey.account)) }) != false
        else { throw RequestFailure.wrongPasskey }
        do throws(CredentialError) {
            passkey.key = try assertion.ceremony.asserted(
                by: passkey.key, authenticatorData: assertion.authenticatorData, signature: assertion.signature)
        } catch {
            throw error == .claim("counter") ? RequestFailure.copiedPasskey : RequestFailure.wrongPasskey
        }
        guard
            try await challenges.accept(
                Self.challenge(of: assertion.ceremony), for: purpose.context, now: now, in: &transaction)
        else { throw RequestFailure.wrongPasskey }
        passkey.used = now
        try Passkey.table.set(passkey.rowKey, to: passkey, in: &transaction)
        return passkey
    }

    /// Verifies a new passkey.
    func register(
        _ ceremony: PasskeyCeremony, attestation: [UInt8], ofAccount id: String, now: Int64,
        in transaction: inout StorageWriter
    ) async throws -> PasskeyKey {
        let key: PasskeyKey
        do throws(CredentialError) {
            key = try ceremony.registered(attestation: attestation)
        } catch {
            throw RequestFailure(
                .badRequest, "the passkey cannot be used",
                remedy: error == .algorithm
                    ? "Its algorithm is not ES256, EdDSA or RS256." : "Try again, or use another authenticator.")
        }
        guard
            try await challenges.accept(
                Self.challenge(of: ceremony), for: PasskeyPurpose.registration(account: id).context, now: now,
                in: &transaction)
        else { throw RequestFailure.wrongPasskey }
        return key
    }

    private static func challenge(of ceremony: PasskeyCeremony) -> [UInt8] { (try? ceremony.challenge) ?? [] }
}

extension RequestFailure {
    static let wrongPasskey = RequestFailure(
        .authenticationFailed, "the passkey was not accepted",
        remedy: "Try again. If it was removed from the account, sign in another way.")
    static let copiedPasskey = RequestFailure(
        .authenticationFailed, "the passkey was not accepted: it counts fewer uses than before, as a copy does",
        remedy: "Sign in another way, and remove the passkey from the account.")
}
