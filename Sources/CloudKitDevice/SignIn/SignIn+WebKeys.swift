extension SignIn {
    /// Returns whether browsers may fetch the account's wrapped keys when its owner signs in.
    package func allowsWebKeys(container: String) async throws -> Bool {
        let (credentials, _) = try signedIn()
        let answer: WebKeysAnswer = try await post(
            "accounts/webKeys", in: container, credentials.proof, as: credentials)
        return answer.allowsWebKeys
    }

    /// Allows browsers to fetch the account's wrapped keys when its owner signs in, or forbids it; browsers that fetched them are then
    /// signed out.
    package func setAllowsWebKeys(_ allowsWebKeys: Bool, container: String) async throws {
        let (credentials, _) = try signedIn()
        var body = credentials.proof
        body["allowsWebKeys"] = .flag(allowsWebKeys)
        let _: WebKeysAnswer = try await post("accounts/webKeys", in: container, body, as: credentials)
    }

    private struct WebKeysAnswer: Decodable {
        var allowsWebKeys: Bool
    }
}
