import HTTPTypes
import NIOHTTP1

/// The head of a request as it arrived.
package struct RequestHead: Sendable {
    /// The method.
    package let method: HTTPRequest.Method
    /// Path and query.
    package let target: String
    /// The header fields.
    package let headers: RequestHeaders

    /// Creates the head of a request that did not come over a socket.
    package init(method: HTTPRequest.Method, target: String, headers: RequestHeaders) {
        self.method = method
        self.target = target
        self.headers = headers
    }

    /// Creates the head that the parser has read; nil for a method that cannot be.
    init?(_ head: HTTPRequestHead) {
        guard let method = HTTPRequest.Method(head.method) else { return nil }
        self.init(method: method, target: Self.target(of: head.uri), headers: RequestHeaders(head.headers))
    }

    /// Returns path and query of a target, which may name scheme and host as well (RFC 9112 §3.2.2).
    private static func target(of uri: String) -> String {
        if uri.utf8.first == UInt8(ascii: "/") { return uri }
        guard let scheme = uri.firstRange(of: "://") else { return uri }
        let rest = uri[scheme.upperBound...]
        guard let end = rest.utf8.firstIndex(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }) else {
            return "/"
        }
        return rest.utf8[end] == UInt8(ascii: "/") ? String(rest[end...]) : "/" + rest[end...]
    }
}

extension HTTPRequest.Method {
    fileprivate init?(_ method: HTTPMethod) {
        switch method {
        case .GET: self = .get
        case .POST: self = .post
        default: self.init(method.rawValue)
        }
    }
}
