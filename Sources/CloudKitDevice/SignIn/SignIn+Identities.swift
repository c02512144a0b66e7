import CloudKitEncryption
import Foundation
import TextEncodings

/// A user's public identity as the cloud presents it now, and the one that this profile has pinned (B-TM-08).
package struct KnownIdentity: Hashable, Sendable {
    /// The email address of the user.
    package var email: String
    fileprivate var name: String
    fileprivate var identity: PublicIdentity
    fileprivate var pinned: Fingerprint?

    /// The fingerprint in eight groups of four digits, for comparison by users.
    package var fingerprint: String { identity.fingerprint.description }
    /// nil: the profile never met this user.
    package var knownFingerprint: String? { pinned?.description }
    /// A Boolean value that indicates whether this device has pinned this identity.
    package var isKnown: Bool { pinned == identity.fingerprint }

    /// Returns a Boolean value that indicates whether a text is the fingerprint, however it is grouped.
    package func hasFingerprint(_ text: String) -> Bool {
        text.lowercased().filter(\.isHexDigit) == fingerprint.filter(\.isHexDigit)
    }
}

/// The reason why a user's identity cannot be compared.
package enum IdentityError: Error, Hashable, Sendable, CustomStringConvertible {
    /// No account of that address uses the container, or it has no keys yet.
    case unknown(String)

    /// A textual form of the value, for logs and debugging.
    package var description: String {
        switch self {
        case .unknown(let email): "nobody with the address \(email) has keys in this container"
        }
    }
}

extension SignIn {
    /// Returns the identity of a user with whom shares of a container are shared.
    ///
    /// - Throws: `IdentityError`, `SignInError`, `EncryptionError` for an identity that is none, and the errors of sending.
    package func identity(ofAddress email: String, container: String) async throws -> KnownIdentity {
        let address = try AccountAddress(email)
        guard let entry = try await open(container: container) else { throw SignInError.notSignedIn }
        let path =
            "/database/1/\(container.percentEncoded)/\(configuration.environment)/public/users/lookup/participants"
        let tokens =
            "?ckAPIToken=" + (try cloud.apiToken(container)).percentEncoded + "&ckWebAuthToken="
            + entry.webAuthToken.percentEncoded
        let response = try await cloud.send(
            DeviceRequest(
                method: "POST", url: configuration.endpoint + path + tokens,
                headers: ["Content-Type": "application/json", "X-Welkin-Client": "sdk/1"],
                body: Array(try JSONEncoder().encode(["lookupInfos": [["emailAddress": address.text]]]))))
        guard response.status == 200 else {
            throw SignInError.refused(Refusal(status: response.status, reason: "HTTP status \(response.status)"))
        }
        guard let answer = try? JSONDecoder().decode(ParticipantsAnswer.self, from: Data(response.body)) else {
            throw SignInError.answerMalformed
        }
        guard let person = answer.participants.first?.userIdentity, let user = person.userRecordName,
            let bytes = person.publicIdentity
        else { throw IdentityError.unknown(address.text) }
        let identity = try PublicIdentity(bytes: Array(bytes))
        let name = "\(container)/\(configuration.environment)/\(user)"
        return KnownIdentity(
            email: address.text, name: name, identity: identity, pinned: try identityPins().fingerprint(of: name))
    }

    /// Trusts from now on that the identity is this user's, after the users compared fingerprints.
    package func trust(_ person: KnownIdentity) throws {
        try PrivateFile.change(identityFile, from: IdentityPins()) {
            $0.replace(with: person.identity, of: person.name)
        }
    }

    private var identityFile: String {
        configuration.deviceProfile.folder + "/" + DeviceProfile.knownIdentitiesFile
    }

    private func identityPins() throws -> IdentityPins {
        try PrivateFile.read(identityFile, or: IdentityPins())
    }
}

extension DeviceProfile {
    /// The file of the public identities that the profile has pinned; apps read and write it, too.
    package static let knownIdentitiesFile = "known-identities.json"
}

private struct ParticipantsAnswer: Decodable {
    var participants: [Participant]

    struct Participant: Decodable {
        var userIdentity: Person?
    }

    struct Person: Decodable {
        var userRecordName: String?
        var publicIdentity: Data?
    }
}
