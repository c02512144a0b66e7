import CloudKitModel
import Crypto

/// The API tokens of the cloud's own pages: one for each container and environment, made from the cloud's secret, and used by pages of
/// the cloud's own origin alone.
package struct PageTokens: Sendable {
    private let secret: SymmetricKey

    /// Creates the tokens of a cloud with a key derived from its secret.
    package init(_ serverEnvironment: ServerEnvironment) { secret = SymmetricKey(data: serverEnvironment.secret) }

    /// Returns the token of a container and environment: 64 hexadecimal digits.
    package func token(container: ContainerID, environment: Environment) -> String {
        let text = "welkin page token 1\u{0}\(container.name)\u{0}\(environment.rawValue)"
        return Array(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: secret)).hex
    }

    /// Returns whether a token is the one of the cloud's own pages for its container and environment.
    ///
    /// - Parameter token: The token of a request, as it was let in.
    package func contains(_ token: APIToken) -> Bool {
        guard let environment = Environment(rawValue: token.environment) else { return false }
        let own = self.token(container: ContainerID(token.container), environment: environment)
        return token.hash == APIToken.hash(of: own)
    }

    /// Returns the token as an app's; nil for a text that is not the token of this container and environment.
    ///
    /// - Parameters:
    ///   - token: The text.
    ///   - container: The container.
    ///   - environment: The container's environment.
    package func row(_ token: String, container: ContainerID, environment: Environment) -> APIToken? {
        let own = self.token(container: container, environment: environment)
        guard isEqualInConstantTime(Array(token.utf8), Array(own.utf8)) else { return nil }
        // No page of another origin has an empty origin.
        return APIToken(
            hash: APIToken.hash(of: own), container: container.name, environment: environment.rawValue,
            name: "pages of this cloud", allowedOrigins: [""], callback: nil, created: 0, isRevoked: false)
    }
}
