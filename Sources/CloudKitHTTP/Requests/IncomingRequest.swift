import CloudKitAccounts
import CloudKitLogs
import CloudKitModel
import CloudKitServer
import HTTPTypes
import HummingbirdCore
import NIOCore
import TextEncodings

/// A request on its way through the cloud: its head, taken apart once, and what its handling has found out so far.
///
/// A class: 10,000 requests that wait for notifications must not each keep copies of it in the frames of several functions.
package final class IncomingRequest {
    /// The method.
    package let method: HTTPRequest.Method
    /// Path and query as received: a signature covers this very text.
    package let target: String
    /// The path as received, percent-encoded, without the query.
    package let path: Substring
    let query: RequestQuery
    /// The headers.
    package let headers: RequestHeaders
    /// The body as it arrives, for endpoints that read it themselves.
    let incomingBody: RequestBody
    let channel: any Channel
    let connection: TrackedConnection
    let crossOrigin: CrossOrigin
    let surface: Caller.ClientKind
    let announcedBytes: Int?
    /// The identifier, for the log and for error objects; it has the time in it.
    let id: LogID
    /// The form of the identifier in headers and error objects.
    package let uuid: String
    /// When the request arrived.
    let start: ContinuousClock.Instant

    /// The endpoint that the path names; nil until it is found.
    package var endpoint: RoutedEndpoint?
    /// The whole body, for endpoints that do not read it themselves; empty until a middleware has read it.
    package internal(set) var body: [UInt8] = []
    /// Whether the body has arrived to its end.
    var isBodyRead: Bool
    /// The bytes of the body that count as held, and for which sender.
    var heldBytes: (sender: BodyBudget.Sender, count: Int)?
    var bytesIn = 0
    /// The wait for notifications that the request continues; nil for one that has just arrived.
    var poll: LongPoll?
    var sender = RequestSender.unknown
    /// Headers that go back whatever the response is.
    package var responseHeaders = HTTPFields()
    /// What the request is about, for the log.
    private(set) lazy var subject = RequestSubject()

    private let isBehindProxy: Bool
    private let publicURL: String?
    private let scheme: String
    /// Whether the client speaks TLS, with this server or with a trusted proxy before it.
    package var isSecure: Bool { scheme == "https" || publicURL?.hasPrefix("https://") == true }
    /// Whether a page of another origin sends the request.
    package var isOfOtherOrigin: Bool { crossOrigin.origin != nil }
    /// The first header `Host`.
    let authority: String?
    /// Whether the request has a header `Host` besides the first one.
    let hasFurtherHost: Bool
    private let signature: ServerSignature?
    /// The attempt of a request that changes a database, as the framework numbers them.
    let attempt: String?
    /// The labels of the operation; nil for a client that names none.
    let labels: OperationLabels?

    init(
        _ head: RequestHead, _ body: RequestBody, id: LogID, start: ContinuousClock.Instant, on channel: any Channel,
        connection: TrackedConnection, configuration: CloudConfiguration
    ) {
        self.id = id
        self.start = start
        uuid = id.description
        method = head.method
        target = head.target
        // Bytes, not characters: this runs for every request.
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        path = target[..<mark]
        query = RequestQuery(mark < target.endIndex ? target[target.utf8.index(after: mark)...] : "")
        headers = head.headers
        let known = KnownHeaders(headers)
        incomingBody = body
        self.channel = channel
        self.connection = connection
        isBehindProxy = configuration.isBehindProxy
        crossOrigin = CrossOrigin(known.origin, ownOrigin: configuration.publicURL, authority: known.host)
        surface = known.client?.hasPrefix("sdk/") == true ? .native : .web
        announcedBytes = known.contentLength
        isBodyRead = (announcedBytes ?? 0) == 0 && !known.hasTransferEncoding
        publicURL = configuration.publicURL
        scheme = configuration.scheme(forwarded: known.forwardedProtocol)
        authority = known.host
        hasFurtherHost = known.hasFurtherHost
        signature = known.keyID.flatMap { id in
            guard let date = known.signedDate, let signature = known.signature else { return nil }
            return ServerSignature(keyID: id, date: date, signature: signature)
        }
        attempt = known.attempt
        labels = known.labels
        crossOrigin.addResponseHeaders(to: &responseHeaders)
    }

    /// Returns the headers that go back, once, without a copy of them.
    func takeResponseHeaders() -> HTTPFields { exchange(&responseHeaders, with: HTTPFields()) }

    /// The container and environment in the path.
    ///
    /// - Throws: `endpointNotFound` for a page or a file, whose path has none.
    var place: ContainerPath {
        get throws(RequestFailure) {
            guard let place = endpoint?.place else { throw .endpointNotFound }
            return place
        }
    }

    /// The host that the request names; nil for none, and for what cannot be one.
    var host: RequestHost? { authority.flatMap { RequestHost($0) } }

    /// Whether the request names a host, and one that can be.
    var hasValidHost: Bool { authority.map { RequestHost.isValid($0) } ?? false }

    /// Whether the client may still be sending the body when the response is there.
    var leavesBody: Bool { !isBodyRead }

    /// The tokens or the signature that come with the request.
    var credentials: RequestCredentials {
        RequestCredentials(
            apiToken: query.apiToken, webAuthToken: query.webAuthToken, signature: signature,
            origin: crossOrigin.origin)
    }

    /// The user, app or server key that was admitted; nil where none was.
    var admission: AuthenticatedCaller? {
        switch sender {
        case .admitted(let admission): admission
        case .app(_, let user): user
        case .unknown, .operator: nil
        }
    }

    /// Whether the client asks for data instead of a page.
    var wantsJSON: Bool { headers[.accept]?.contains("application/json") == true }

    /// The address of the client, for slowing down guessers; never for the log.
    package var address: String {
        // The last entry is the proxy's own; those before it anyone may have written.
        if isBehindProxy, let last = headers[HeaderName.forwardedFor]?.split(separator: ",").last {
            return last.filter { $0 != " " }
        }
        return channel.remoteAddress?.ipAddress ?? "unknown"
    }

    /// The token in `Authorization: Bearer`.
    var bearerToken: String? {
        guard let value = headers[.authorization], let space = value.firstIndex(of: " "),
            value[..<space].lowercased() == "bearer"
        else { return nil }
        let token = value[space...].drop { $0 == " " }
        return token.isEmpty ? nil : String(token)
    }

    /// Whether a process of this machine sent the request for itself. A proxy on this machine sends for others: none may be
    /// configured, and the request must not say that it came through one.
    var isFromThisMachine: Bool {
        guard !isBehindProxy, publicURL == nil, let address = channel.remoteAddress?.ipAddress else { return false }
        let isLoopback = address == "::1" || address.hasPrefix("127.") || address.hasPrefix("::ffff:127.")
        return isLoopback && !HeaderName.ofProxies.contains { headers[$0] != nil }
    }

    /// Scheme, host and port under which the client reaches this cloud, without a slash at the end; nil when neither the
    /// configuration nor the request names them.
    package var baseURL: String? { publicURL ?? authority.map { "\(scheme)://\($0)" } }

    /// Whether the client is still there to read a response.
    var isConnected: @Sendable () -> Bool { { [channel] in channel.isActive } }

    /// The sign-in page for the app and the container of the request; nil when the request does not say enough.
    var signInURL: String? {
        guard let base = baseURL, let token = query.apiToken, let place = endpoint?.place else { return nil }
        return "\(base)/sign-in?container=\(place.container.name.percentEncoded)"
            + "&environment=\(place.environment.rawValue)&ckAPIToken=\(token.percentEncoded)"
    }
}

extension RequestFailure {
    /// The error of a path that names no endpoint.
    package static var endpointNotFound: RequestFailure {
        RequestFailure(.endpointNotFound, "could not find handler for endpoint")
    }

    /// The error of an endpoint that needs a user, for a request without one.
    static var userNeeded: RequestFailure {
        RequestFailure(
            .authenticationRequired, "request needs authorization", remedy: "Sign in and send ckWebAuthToken.")
    }
}
