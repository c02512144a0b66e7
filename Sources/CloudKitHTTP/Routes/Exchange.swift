import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import HTTPTypes
import NIOCore
import TextEncodings

/// A request's head, taken apart once.
struct Exchange {
    var method: HTTPRequest.Method
    /// Path and query as received: a signature covers this very text.
    var target: String
    var path: Substring
    var query: RequestQuery
    var crossOrigin: CrossOrigin
    var surface: Caller.Surface
    var credentials: RequestCredentials
    var announcedBytes: Int?
    /// Whether the client asks for data, not for a page to look at.
    var wantsJSON: Bool
    private var channel: any Channel
    private let headers: HTTPFields
    private let isBehindProxy: Bool
    /// What a proxy that we trust says of the client.
    private var forwardedFor: String?
    private var publicURL: String?
    private var scheme: String
    private var authority: String?

    init(_ head: HTTPRequest, configuration: CloudConfiguration, channel: any Channel) {
        method = head.method
        target = head.path ?? "/"
        // Bytes, not characters: this runs for every request.
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        path = target[..<mark]
        query = RequestQuery(mark < target.endIndex ? target[target.utf8.index(after: mark)...] : "")
        let headers = head.headerFields
        self.headers = headers
        isBehindProxy = configuration.isBehindProxy
        crossOrigin = CrossOrigin(headers, ownOrigin: configuration.publicURL, authority: head.authority)
        surface = headers[HeaderName.client]?.hasPrefix("sdk/") == true ? .native : .web
        credentials = RequestCredentials(
            apiToken: query.apiToken, webAuthToken: query.webAuthToken, signature: Self.signature(headers),
            origin: crossOrigin.origin)
        wantsJSON = headers[.accept]?.contains("application/json") == true
        announcedBytes = headers[.contentLength].flatMap { Int($0) }
        self.channel = channel
        forwardedFor = configuration.isBehindProxy ? headers[HeaderName.forwardedFor] : nil
        publicURL = configuration.publicURL
        scheme = configuration.scheme
        authority = head.authority
    }

    /// Where the request comes from: for slowing down guessers, never for the log.
    var address: String {
        // The last entry is the proxy's own; those before it anyone may have written.
        if let last = forwardedFor?.split(separator: ",").last { return last.filter { $0 != " " } }
        return channel.remoteAddress?.ipAddress ?? "unknown"
    }

    /// What stands behind `Authorization: Bearer`.
    var bearerToken: String? {
        guard let value = headers[.authorization], let space = value.firstIndex(of: " "),
            value[..<space].lowercased() == "bearer"
        else { return nil }
        let token = value[space...].drop { $0 == " " }
        return token.isEmpty ? nil : String(token)
    }

    /// Whether a process of this machine asks, for itself. A proxy on this machine asks for others: none may be configured, and
    /// the request must not say that it came by way of one.
    var isFromThisMachine: Bool {
        guard !isBehindProxy, publicURL == nil, let address = channel.remoteAddress?.ipAddress else { return false }
        let isLoopback = address == "::1" || address.hasPrefix("127.") || address.hasPrefix("::ffff:127.")
        return isLoopback && !HeaderName.ofProxies.contains { headers[$0] != nil }
    }

    /// Scheme, host and port by which this cloud is reached, without a slash at the end; nil when nobody says.
    var baseURL: String? { publicURL ?? authority.map { "\(scheme)://\($0)" } }

    /// Whether the client is still there to read an answer.
    var isConnected: @Sendable () -> Bool { { [channel] in channel.isActive } }

    /// Where a browser can sign in for the database asked; nil when the request does not say enough.
    var signInURL: String? {
        guard let base = baseURL, let token = query.apiToken,
            let place = try? Route(path: path).place
        else { return nil }
        return "\(base)/sign-in?container=\(place.container.name.percentEncoded)"
            + "&environment=\(place.environment.rawValue)&ckAPIToken=\(token.percentEncoded)"
    }

    private static func signature(_ headers: HTTPFields) -> ServerSignature? {
        guard let keyID = headers[HeaderName.keyID], let date = headers[HeaderName.signedDate],
            let signature = headers[HeaderName.signature]
        else { return nil }
        return ServerSignature(keyID: keyID, date: date, signature: signature)
    }
}
