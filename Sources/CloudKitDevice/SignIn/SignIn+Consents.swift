/// A permission for operators of the cloud to see the person's private data for some time.
package struct ListedConsent: Codable, Hashable, Sendable {
    /// The id of the permission.
    package var id: String
    /// The name of the container.
    package var container: String
    /// `development` or `production`.
    package var environment: String
    /// Milliseconds since 1970.
    package var created: Int64
    /// Milliseconds since 1970.
    package var expires: Int64
    /// A Boolean value that indicates whether operators may change records as well.
    package var allowsChanges: Bool
}

extension SignIn {
    /// Lets operators who get the token see the person's private data of a container and its environment.
    ///
    /// - Parameters:
    ///   - seconds: One minute to seven days.
    ///   - allowsChanges: Whether operators may change records as well.
    /// - Returns: The token, which cannot be read again.
    package func createConsent(seconds: Int, allowsChanges: Bool, container: String) async throws -> String {
        var body = try signedIn().credentials.proof
        body["create"] = .flag(true)
        body["seconds"] = .number(seconds)
        body["allowsChanges"] = .flag(allowsChanges)
        guard let token = try await consents(body, container: container).token else {
            throw SignInError.answerMalformed
        }
        return token
    }

    /// Returns the permissions that are not over, oldest first.
    package func consents(container: String) async throws -> [ListedConsent] {
        try await consents(try signedIn().credentials.proof, container: container).consents
    }

    /// Takes a permission back.
    ///
    /// - Parameter id: The first digits of its id, or `all`.
    package func revokeConsent(_ id: String, container: String) async throws {
        var body = try signedIn().credentials.proof
        body["revoke"] = .text(id)
        _ = try await consents(body, container: container)
    }

    private func consents(_ body: DeviceCloud.Body, container: String) async throws -> ConsentsAnswer {
        try await post("accounts/consents", in: container, body, as: try signedIn().credentials)
    }

    private struct ConsentsAnswer: Decodable {
        var token: String?
        var consents: [ListedConsent]
    }
}
