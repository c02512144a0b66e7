/// The URLs below `/assets` that this cloud puts into its own responses.
enum AssetURL {
    static let uploadPrefix = "/assets/upload/"
    static let downloadPrefix = "/assets/file/"

    /// Returns the URL that takes an upload.
    static func upload(_ token: String, base: String) -> String { "\(base)\(uploadPrefix)\(token)" }

    /// Returns the URL of a file, with `${f}` for the client to replace by a name of its choice.
    static func download(_ token: String, base: String) -> String { "\(base)\(downloadPrefix)\(token)/${f}" }

    /// Returns the token in the URL of a file; empty if it is no such URL. Its host does not matter: the seal shows whose it is.
    static func downloadToken(in url: String) -> String {
        guard let start = url.firstRange(of: downloadPrefix)?.upperBound else { return "" }
        return String(url[start...].prefix { $0 != "/" })
    }
}
