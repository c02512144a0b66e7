import CloudKitModel
import HTTPTypes

/// Refuses requests that name no host, several, or one that cannot be (RFC 9112 §3.2).
struct HostCheck: RequestCheck {
    func check(_ request: IncomingRequest) throws {
        // Load balancers ask for health without a host.
        let isMissing = request.authority == nil && !request.hasFurtherHost && request.path == "/health"
        guard isMissing || request.hasValidHost && !request.hasFurtherHost else { throw Self.refused }
    }

    private static let refused = RequestFailure(
        .badRequest, "the request does not name its host, or not in one valid header Host")
}

/// Admits requests to the operator's endpoints under names of this machine and names that the operator gave, and no pages of other
/// origins: a page whose host name suddenly leads to this machine gets nothing.
struct OperatorHosts: RequestCheck {
    var names: OperatorNames

    func check(_ request: IncomingRequest) throws {
        guard request.crossOrigin.origin == nil else {
            request.responseHeaders[.accessControlAllowOrigin] = nil
            throw Self.originRefused
        }
        guard names.admits(request) else { throw Self.hostRefused }
    }

    private static let originRefused = RequestFailure(
        .accessDenied, "pages of other origins may not send operators' requests")
    private static let hostRefused = RequestFailure(
        .accessDenied, "operators' requests are not answered under this host name",
        remedy: "Use 127.0.0.1, or name the host with welkin serve --operator-host.")
}
