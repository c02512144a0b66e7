import CloudKitDevice
import Foundation
import TextEncodings

/// Signs an account in with its password and returns a user token.
struct UserSignIn {
    var place: ContainerPlace
    /// The fewest rounds of key derivation: a cloud that asks for less wants a proof from which the password can be guessed.
    var roundsMin: Int

    /// Returns a token of the account: the app's API token and the user's web auth token.
    ///
    /// - Throws: `ToolFailure` that says why the cloud refused.
    func token(email: String) async throws -> String {
        guard let apiToken = place.configuration.apiToken(for: place.container) else {
            throw UserToken.apiTokenMissing(place.container)
        }
        let address = try AccountAddress(email).text
        let password = Prompt.secret("Password of \(address)")
        guard !password.isEmpty else { throw ToolFailure("The password is empty. Give it on standard input.") }
        let derivation = try await post("sessions/prepare", apiToken, ["email": .text(address)])
        guard let salt = derivation["salt"]?.text.flatMap({ Data(base64Encoded: $0) }),
            let rounds = derivation["rounds"]?.integer.map(Int.init),
            (min(roundsMin, PasswordProof.roundsMax)...PasswordProof.roundsMax).contains(rounds)
        else {
            throw ToolFailure(
                "The cloud asks for a proof from which the password could be guessed. Nothing was sent. Check the address."
            )
        }
        let proof = try PasswordProof(password: password, salt: Array(salt), rounds: rounds)
        let session = try await post(
            "sessions/create", apiToken,
            [
                "email": .text(address), "proof": .text(Data(proof.bytes).base64EncodedString()),
                "deviceName": "cktool", "lifetime": "persistent",
            ])
        guard let web = session["ckWebAuthToken"]?.text else {
            throw ToolFailure("The cloud's answer to the sign-in cannot be read.")
        }
        return UserToken(api: apiToken, web: web).text
    }

    private func post(_ action: String, _ apiToken: String, _ body: [String: JSONTree]) async throws -> JSONTree {
        try await CloudClient(endpoint: place.configuration.endpoint).send(
            .init(
                path: "/device/1/\(place.container.percentEncoded)/\(place.environment)/\(action)"
                    + "?ckAPIToken=\(apiToken.percentEncoded)",
                headers: ["X-Welkin-Client": "sdk/1"], body: .object(body))
        ).tree
    }
}

/// The token of a user: a web auth token and the API token of the app that it was made with.
struct UserToken: Hashable {
    var api: String
    var web: String

    /// Reads a text of the form `API token:web auth token`, or a web auth token alone, which needs a configured API token.
    ///
    /// - Throws: `ToolFailure` when there is no API token.
    init(_ text: String, in place: ContainerPlace) throws {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2 {
            self.init(api: String(parts[0]), web: String(parts[1]))
        } else if let api = place.configuration.apiToken(for: place.container) {
            self.init(api: api, web: text)
        } else {
            throw Self.apiTokenMissing(place.container)
        }
    }

    init(api: String, web: String) {
        self.api = api
        self.web = web
    }

    /// The form in which a token is saved.
    var text: String { api + ":" + web }

    static func apiTokenMissing(_ container: String) -> ToolFailure {
        ToolFailure(
            "No API token of the container \(container) is configured. Set CLOUDKIT_API_TOKEN, or write \"apiToken\" into "
                + "cloudkit.json; the operator makes one with: welkin token create \(container)")
    }
}
