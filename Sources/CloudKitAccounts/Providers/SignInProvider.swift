import WebCredentials

/// A provider at which people prove who they are: its page, and its word about a person who was there.
package protocol SignInProvider: Sendable {
    /// The name of the provider, as people know it.
    var label: String { get }

    /// Returns the address at the provider to which a browser goes.
    ///
    /// - Throws: An error whose description has no secret.
    func authorizationURL(_ request: ProviderRequest) async throws -> String

    /// Returns the provider's verified word about the person who came back with a code.
    ///
    /// - Parameters:
    ///   - code: The code that the browser brought.
    ///   - request: The request with which the browser left.
    ///   - now: Milliseconds since 1970.
    /// - Throws: An error whose description has no secret.
    func identity(code: String, _ request: ProviderRequest, now: Int64) async throws -> IDToken
}

/// What one sign-in at a provider is bound to.
package struct ProviderRequest: Hashable, Sendable {
    /// The address to which the provider sends the browser back.
    package var redirect: String
    /// Comes back with the code.
    package var state: String
    /// Comes back in the provider's word.
    package var nonce: String
    /// The secret of which the provider has seen the hash (RFC 7636).
    package var verifier: String

    /// Creates a request from its parts.
    package init(redirect: String, state: String, nonce: String, verifier: String) {
        self.redirect = redirect
        self.state = state
        self.nonce = nonce
        self.verifier = verifier
    }
}
