extension SignIn {
    /// The address of the account that a device is signed in to.
    package struct Address: Decodable, Sendable {
        /// The address.
        package var email: String
        /// Whether it is proved.
        package var isProved: Bool
        /// Whether the cloud counts only proved addresses.
        package var isRequired: Bool
    }

    /// Returns the address of the account, and whether it is proved.
    ///
    /// - Parameter sendsLink: Whether the cloud mails a link to it, by which it is proved.
    package func address(sendsLink: Bool, container: String) async throws -> Address {
        let (credentials, _) = try signedIn()
        var body = credentials.proof
        if sendsLink { body["sendsLink"] = .flag(true) }
        return try await post("accounts/address", in: container, body, as: credentials)
    }

    /// Proves the address of an account with the code of the link that was mailed to it.
    ///
    /// - Throws: `SignInError`.
    package func proveAddress(code: String, container: String) async throws -> Address {
        try await cloud.post("accounts/address", in: container, ["code": .text(code)])
    }
}
