import CloudKitAccounts
import CloudKitLogs
import CloudKitModel
import CloudKitServer
import Logging

/// The parts of a cloud that a mounted site works with.
package struct SiteServices: Sendable {
    /// The rules and the store behind them.
    package let cloud: Cloud
    /// The sign-ins that are remembered; whoever changes accounts makes it forget.
    package let authenticator: Authenticator
    /// The settings of the HTTP server.
    package let configuration: CloudConfiguration
    /// The cloud's metrics.
    package let metrics: RequestMetrics
    /// The operator's log.
    package let logger: Logger
    /// Takes entries of the log of requests; nil without one.
    let log: LogBuffer?
    /// The one count of wrong proofs.
    package let proofLimiter: ProofLimiter
    let bodyReader: BodyReader
    let operatorNames: OperatorNames
    let downloads: AssetDownloadEndpoint

    /// The log of what operators order.
    package var operatorLog: OperatorLog {
        OperatorLog(logger: logger, log: log, now: cloud.serverEnvironment.now)
    }

    /// Returns whether a request comes under one of the operators' host names and from no page of another origin.
    package func isForOperators(_ request: IncomingRequest) -> Bool { operatorNames.admits(request) }

    /// Reads the body of a request, which is then in `request.body`.
    ///
    /// - Parameters:
    ///   - bytesMax: The bytes of the largest accepted body.
    ///   - isKnown: Whether the sender is an operator; strangers share a small budget.
    /// - Throws: `sizeLimitExceeded`, `tryAgainLater`, and `badRequest` for a body that does not arrive.
    package func readBody(of request: IncomingRequest, bytesMax: Int, isKnown: Bool) async throws {
        try await bodyReader.readBody(of: request, from: isKnown ? .known("operator") : .stranger, bytesMax: bytesMax)
    }

    /// Returns the response with the file of an asset, as its `downloadURL` gives it.
    ///
    /// - Parameter token: A token for downloads, made for this request: it is no part of the site's URLs.
    package func download(_ token: String, answering request: IncomingRequest) async throws -> EndpointResponse {
        try await downloads.download(request, token: token)
    }
}
