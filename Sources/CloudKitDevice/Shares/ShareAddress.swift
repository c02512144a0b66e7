import Foundation

/// The destination of a link to a share.
///
/// `https://cloud.example.com/share/GUID#k=…`, or the same behind `welkin:`, by which a desktop finds the program that
/// opens it.
package struct ShareAddress: Hashable, Sendable {
    /// The link without `welkin:`; with the part behind the `#`, which is never sent.
    package let link: String
    /// Scheme, host and port of its cloud, without a slash at the end.
    package let endpoint: String
    let shortGUID: String

    /// The scheme of links that a desktop hands to `welkin open`.
    package static let scheme = "welkin"
    /// Characters of a link.
    static let lengthMax = 2048

    /// - Throws: `LinkError.notALink`.
    package init(_ text: String) throws(LinkError) {
        let prefix = Self.scheme + ":"
        let isWrapped = text.prefix(prefix.count).lowercased() == prefix
        let link = isWrapped ? String(text.dropFirst(prefix.count)) : text
        guard link.utf8.count <= Self.lengthMax, let parts = URLComponents(string: link),
            let host = parts.host, !host.isEmpty, let scheme = parts.scheme?.lowercased(),
            ["http", "https"].contains(scheme), parts.user == nil, parts.password == nil,
            parts.path.hasPrefix("/share/")
        else { throw .notALink(String(text.prefix(Self.lengthMax))) }
        let guid = String(parts.path.dropFirst("/share/".count))
        guard !guid.isEmpty, !guid.contains("/") else { throw .notALink(text) }
        self.link = link
        endpoint = "\(scheme)://\(host)" + (parts.port.map { ":\($0)" } ?? "")
        shortGUID = guid
    }
}
