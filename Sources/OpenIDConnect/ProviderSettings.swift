/// The provider as the operator has configured it.
package struct ProviderSettings: Hashable, Sendable {
    /// The address of the provider, as it names itself in its tokens.
    package var issuer: String
    /// The cloud's name at the provider.
    package var clientID: String
    /// The cloud's secret at the provider; nil: a public client.
    package var clientSecret: String?
    /// The name of the provider, as people know it.
    package var label: String
    /// The scopes that are asked for.
    package var scopes: String

    /// Creates the settings of a provider.
    package init(
        issuer: String, clientID: String, clientSecret: String? = nil, label: String,
        scopes: String = "openid email profile"
    ) {
        self.issuer = issuer
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.label = label
        self.scopes = scopes
    }

    /// Returns whether an address may be that of a provider: `https`, or of this machine.
    package static func isUsable(_ url: String) -> Bool {
        guard url.utf8.allSatisfy({ $0 > 32 && $0 < 127 }), !url.contains("@"), !url.contains("#") else { return false }
        if url.hasPrefix("https://") { return url.utf8.count > "https://".utf8.count }
        guard url.hasPrefix("http://") else { return false }
        let authority = url.dropFirst("http://".count).prefix { $0 != "/" && $0 != "?" }
        return ["127.0.0.1", "localhost", "[::1]"].contains { authority == $0 || authority.hasPrefix($0 + ":") }
    }
}
