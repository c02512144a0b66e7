/// The cloud as authenticators know it.
package struct RelyingParty: Hashable, Sendable {
    /// Scheme, host and port of the pages.
    package let origin: String
    /// The name to which passkeys are bound: the host.
    package let id: String

    /// Creates the party from the address of the cloud.
    ///
    /// - Parameter url: Scheme, host and port, without a path.
    /// - Returns: nil where browsers have no passkeys: an address that is neither `https` nor `http://localhost`, or that names no host but an
    ///   IP address.
    package init?(url: String) {
        guard let scheme = url.firstRange(of: "://") else { return nil }
        let isSecure = url[..<scheme.lowerBound] == "https"
        let authority = url[scheme.upperBound...].lowercased()
        let host = authority.prefix { $0 != ":" }
        guard isSecure || url[..<scheme.lowerBound] == "http" && host == "localhost",
            (1...253).contains(host.utf8.count), !authority.contains("/"), !host.hasPrefix("["),
            host.contains(where: { !$0.isNumber && $0 != "." })
        else { return nil }
        id = String(host)
        var origin = (isSecure ? "https://" : "http://") + authority
        for (prefix, port) in [("https://", ":443"), ("http://", ":80")]
        where origin.hasPrefix(prefix) && origin.hasSuffix(port) {
            origin.removeLast(port.utf8.count)
        }
        self.origin = origin
    }
}
