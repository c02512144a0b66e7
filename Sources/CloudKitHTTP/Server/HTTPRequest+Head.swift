import HTTPTypes
import NIOHTTP1

extension HTTPRequest {
    /// Takes the head of a request from the parser; nil for a method or a target that cannot be.
    ///
    /// Like the parser's own conversion, but without taking the target apart: nearly all begin with a slash.
    init?(_ head: HTTPRequestHead) {
        guard let method = HTTPRequest.Method(head.method.rawValue) else { return nil }
        var fields = HTTPFields()
        fields.reserveCapacity(head.headers.count)
        var authority: String?
        for (name, value) in head.headers {
            // The first one; others stay, and are refused.
            if authority == nil, name.utf8.count == 4, name.lowercased() == "host" {
                authority = value
            } else if let name = HTTPField.Name(name) {
                fields.append(HTTPField(name: name, value: value))
            }
        }
        self.init(
            method: method, scheme: "http", authority: authority, path: Self.path(of: head.uri), headerFields: fields)
    }

    /// Returns path and query of a target, which may name scheme and host as well (RFC 9112 §3.2.2).
    private static func path(of target: String) -> String {
        if target.utf8.first == UInt8(ascii: "/") { return target }
        guard let scheme = target.firstRange(of: "://") else { return target }
        let rest = target[scheme.upperBound...]
        guard let end = rest.utf8.firstIndex(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }) else {
            return "/"
        }
        return rest.utf8[end] == UInt8(ascii: "/") ? String(rest[end...]) : "/" + rest[end...]
    }
}
