extension SignIn {
    /// Returns whether others may find the account's owner; nil: the person has not decided, and is not found.
    package func isDiscoverable(container: String) async throws -> Bool? {
        let (credentials, _) = try signedIn()
        let answer: DiscoveryAnswer = try await post(
            "accounts/discovery", in: container, credentials.proof, as: credentials)
        return answer.isDiscoverable
    }

    /// Lets others find the account's owner by address, phone number or user name, and see the name; or not.
    package func setDiscoverable(_ isDiscoverable: Bool, container: String) async throws {
        let (credentials, _) = try signedIn()
        var body = credentials.proof
        body["isDiscoverable"] = .flag(isDiscoverable)
        let _: DiscoveryAnswer = try await post("accounts/discovery", in: container, body, as: credentials)
    }

    private struct DiscoveryAnswer: Decodable {
        var isDiscoverable: Bool?
    }
}
