import CloudKitModel
import HTTPTransfer

/// The URL of a push service for one browser.
struct WebPushEndpoint: Hashable, Sendable {
    var url: String
    /// The scheme, host and port, the audience of a VAPID token.
    var origin: String
    /// Whether the operator has allowed the host, which may then be in a private network.
    var isHostNamed: Bool
}

/// The rules for endpoints. Clients choose them and could name any address that the cloud's machine can reach.
///
/// The address of a name is checked when the connection is made, by `HTTPClient.Request.Reach.publicOnly`.
package struct WebPushEndpointRules: Hashable, Sendable {
    /// The hosts allowed by the operator, in lower case, each with or without its port; plain HTTP, other ports and private
    /// addresses are allowed for them.
    package var namedHosts: Set<String>

    /// Creates the rules.
    ///
    /// - Parameter namedHosts: Hosts such as `push.example.org`, `127.0.0.1:8090` or `[::1]:8090`.
    package init(namedHosts: some Sequence<String> = []) {
        self.namedHosts = Set(namedHosts.map { $0.lowercased() })
    }

    /// The maximum length of an endpoint; those of browsers have some hundred bytes.
    static let urlBytesMax = 2048

    /// Parses an endpoint and checks that messages may be sent to it.
    ///
    /// - Throws: `badRequest` for an invalid URL or a refused endpoint.
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

    /// Returns host and port; nil for any other form, such as one with a user name.
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

    /// Returns whether a host has the form of a public host name: with a dot, and not numeric.
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
