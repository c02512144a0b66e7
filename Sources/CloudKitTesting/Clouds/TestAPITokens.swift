import CloudKitAccounts

/// The API tokens of a test cloud, one for each container that a test names.
///
/// A token is made when a container is, which cannot wait for the cloud's store; the cloud knows it before the first request
/// arrives.
struct TestAPITokens {
    private var tokens: [String: String] = [:]
    /// The tokens that the cloud does not know yet, by container.
    private(set) var unregistered: [String: String] = [:]

    /// Returns the token for apps of a container; the first call makes it.
    mutating func token(of container: String) -> String {
        if let known = tokens[container] { return known }
        let token = ServerEnvironment.systemRandom(32).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
        tokens[container] = token
        unregistered[container] = token
        return token
    }

    /// Notes that the cloud knows a token.
    mutating func note(registered token: String, of container: String) {
        if unregistered[container] == token { unregistered[container] = nil }
    }
}
