import CloudKitHTTP
import HTTPTypes

/// The cookie of a session.
enum SessionCookie {
    private static let name = "welkin-console"

    /// Returns the value that a browser sent; nil for none.
    static func value(in request: IncomingRequest) -> String? {
        for pair in (request.headers[.cookie] ?? "").split(separator: ";") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].filter({ $0 != " " }) == name else { continue }
            return parts[1].filter { $0 != " " }
        }
        return nil
    }

    /// Returns the header that sets the cookie: for the Console's pages alone, for no script and no other site.
    ///
    /// - Parameter value: nil removes it.
    static func header(_ value: String?, isSecure: Bool) -> String {
        "\(name)=\(value ?? ""); Path=\(Address.root); HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "") + (value == nil ? "; Max-Age=0" : "")
    }
}
