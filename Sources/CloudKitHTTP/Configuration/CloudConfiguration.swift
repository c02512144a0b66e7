/// The settings of a cloud's HTTP server.
package struct CloudConfiguration: Hashable, Sendable {
    /// The address to listen on.
    package var host: String
    /// The port to listen on; with 0 the system chooses one.
    package var port: Int
    /// Scheme, host and port under which clients reach the cloud, without a slash at the end; nil: those that a request names.
    package var publicURL: String?
    /// Whether the server itself speaks TLS.
    package var usesTLS: Bool
    /// Whether `X-Forwarded-For` and `X-Forwarded-Proto` are written by a trusted proxy.
    package var isBehindProxy: Bool
    /// A Boolean value that indicates whether everything that documented web services do not have is refused.
    package var isStrictWebServices: Bool
    /// Host names, besides those of this machine and of `publicURL`, under which operators' endpoints answer.
    package var operatorHosts: [String]
    /// The limits of connections.
    package var connections: ConnectionLimits
    /// The limits of bodies in memory.
    package var bodies: BodyLimits
    /// The bytes that all answers with records may hold together until clients have read them.
    package var answersBytesMax: Int
    /// Whether users may create their own accounts.
    package var isSignUpOpen: Bool
    /// The time between a person's wish and the deletion of their account.
    package var accountDeletionGrace: Duration
    /// The slowest rate at which a client may send a body or receive a file.
    package var minimumTransferRate: MinimumTransferRate
    /// The time for which a device's request for notifications waits for one.
    package var longPollHold: Duration

    /// Creates settings; by default the cloud serves this machine alone.
    package init(
        host: String = "127.0.0.1", port: Int = 8080, publicURL: String? = nil, usesTLS: Bool = false,
        isBehindProxy: Bool = false, isStrictWebServices: Bool = false, operatorHosts: [String] = [],
        connections: ConnectionLimits = ConnectionLimits(),
        bodies: BodyLimits = BodyLimits(), answersBytesMax: Int = 128 * 1024 * 1024, isSignUpOpen: Bool = true,
        accountDeletionGrace: Duration = .seconds(30 * 86_400),
        minimumTransferRate: MinimumTransferRate = MinimumTransferRate(), longPollHold: Duration = .seconds(25)
    ) {
        self.host = host
        self.port = port
        self.publicURL = publicURL
        self.usesTLS = usesTLS
        self.isBehindProxy = isBehindProxy
        self.isStrictWebServices = isStrictWebServices
        self.operatorHosts = operatorHosts
        self.connections = connections
        self.bodies = bodies
        self.answersBytesMax = answersBytesMax
        self.isSignUpOpen = isSignUpOpen
        self.accountDeletionGrace = accountDeletionGrace
        self.minimumTransferRate = minimumTransferRate
        self.longPollHold = longPollHold
    }

    /// Returns the scheme of the URLs that clients are given.
    ///
    /// - Parameter forwarded: The header `X-Forwarded-Proto` of the request, which counts behind a trusted proxy alone. Its last entry is
    ///   the proxy's own; those before it anyone may have written.
    func scheme(forwarded: String?) -> String {
        if isBehindProxy, let last = forwarded?.split(separator: ",").last {
            let scheme = last.filter { $0 != " " }.lowercased()
            if scheme == "http" || scheme == "https" { return scheme }
        }
        return usesTLS ? "https" : "http"
    }
}
