import CloudKitModel
import HTTPTransfer

/// The URL of a push service for one browser.
struct WebPushEndpoint: Hashable, Sendable {
    var url: String
    /// Scheme, host and port: whom a VAPID token is for.
    var origin: String
    /// Whether the operator has named the host: it may be in a private network.
    var isHostNamed: Bool
}

/// Which endpoints the cloud sends to. They come from clients, who could name any address that the cloud's machine reaches.
///
/// What a name stands for is looked at when the connection is made, by `HTTPClient.Request.Reach.publicOnly`.
package struct WebPushEndpointRules: Hashable, Sendable {
    /// Hosts named by the operator, in lower case, each with its port or without: there, plain HTTP, other ports and private
    /// addresses are allowed.
    package var namedHosts: Set<String>

    /// - Parameter namedHosts: Such as `push.example.org`, `127.0.0.1:8090` or `[::1]:8090`.
    package init(namedHosts: some Sequence<String> = []) {
        self.namedHosts = Set(namedHosts.map { $0.lowercased() })
    }

    /// Bytes of an endpoint; browsers' have some hundred.
    static let urlBytesMax = 2048

    /// - Throws: `badRequest` for what is no URL, or not one that messages are sent to.
    func endpoint(_ text: String) throws(RequestFailure) -> WebPushEndpoint {
        guard text.utf8.count <= Self.urlBytesMax, text.utf8.allSatisfy({ $0 > 32 && $0 < 127 }),
            !text.contains(where: { "\\#\"<>^`{|}".contains($0) }), let mark = text.firstRange(of: "://")
        else { throw Self.refused }
        let scheme = text[..<mark.lowerBound]
        let rest = text[mark.upperBound...]
        let authority = rest[..<(rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex)]
        guard let (host, port) = Self.parts(of: authority) else { throw Self.refused }
        let origin = "\(scheme)://\(authority)"
        if namedHosts.contains(authority.lowercased()) || namedHosts.contains(host.lowercased()) {
            guard scheme == "https" || scheme == "http" else { throw Self.refused }
            return WebPushEndpoint(url: text, origin: origin, isHostNamed: true)
        }
        guard scheme == "https", port == nil || port == 443, Self.isName(host) else { throw Self.refused }
        return WebPushEndpoint(url: text, origin: origin, isHostNamed: false)
    }

    /// Host and port; nil for what has neither this form nor anything to do here, such as a user's name.
    private static func parts(of authority: Substring) -> (host: Substring, port: UInt16?)? {
        guard !authority.isEmpty, !authority.contains("@"), !authority.contains("%") else { return nil }
        // A colon inside of brackets belongs to the address.
        let bracket = authority.lastIndex(of: "]")
        guard let colon = authority.lastIndex(of: ":"), bracket.map({ $0 < colon }) ?? true else {
            return (authority, nil)
        }
        guard let port = UInt16(authority[authority.index(after: colon)...]), port > 0, colon > authority.startIndex
        else {
            return nil
        }
        return (authority[..<colon], port)
    }

    /// Whether it is the name of a host in the public network, by its looks: names with a dot, no numbers.
    private static func isName(_ host: Substring) -> Bool {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        guard host.utf8.count <= 253, labels.count >= 2, let last = labels.last else { return false }
        return last.contains { $0.isLetter }
            && labels.allSatisfy { label in
                (1...63).contains(label.utf8.count)
                    && label.utf8.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                            true
                        default: false
                        }
                    }
            } && !last.lowercased().hasPrefix("0x")
    }

    private static let refused = RequestFailure(
        .badRequest, "this cloud sends nothing to such an endpoint",
        remedy:
            "An endpoint is https:// with the name of a public host, port 443, at most \(urlBytesMax) bytes; the operator can "
            + "name others with --web-push-allow-host.")
}
