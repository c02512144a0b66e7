import CloudKitAccounts

/// The API tokens of a test cloud, one for each container and environment that a test names.
///
/// A token is made when a container is, which cannot wait for the cloud's store; the cloud knows it before the first request
/// arrives.
struct TestAPITokens {
    /// The apps that one token is for.
    struct App: Hashable {
        var container: String
        var environment: TestCloud.Environment
    }

    private var tokens: [App: String] = [:]
    /// The tokens that the cloud does not know yet.
    private(set) var unregistered: [App: String] = [:]

    /// Returns the token for apps of a container; the first call makes it.
    mutating func token(of app: App) -> String {
        if let known = tokens[app] { return known }
        let token = ServerEnvironment.systemRandom(32).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
        tokens[app] = token
        unregistered[app] = token
        return token
    }

    /// Notes that the cloud knows a token.
    mutating func note(registered token: String, of app: App) {
        if unregistered[app] == token { unregistered[app] = nil }
    }
}
