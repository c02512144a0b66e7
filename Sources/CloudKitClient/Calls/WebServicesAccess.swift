import Synchronization

/// The state that a container shares among its calls to documented web services.
package final class WebServicesAccess: Sendable {
    /// Signs requests with a server-to-server key; nil: tokens travel in the query.
    let signer: ServerKeySigner?
    /// The caller's record name; nil inside: asked, and there is none.
    private let known = Mutex<String??>(nil)

    /// - Parameter signer: nil: requests carry an API token, and a user's web auth token.
    package init(signer: ServerKeySigner? = nil) { self.signer = signer }

    /// Returns the caller's record name, asked for once; nil where the service names none.
    func caller(_ ask: () async throws -> String?) async throws -> String? {
        if let known = known.withLock({ $0 }) { return known }
        let name = try await ask()
        known.withLock { $0 = .some(name) }
        return name
    }
}
