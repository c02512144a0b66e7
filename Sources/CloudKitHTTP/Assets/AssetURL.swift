/// The URLs below `/assets` that this cloud puts into its own responses.
enum AssetURL {
    static let uploadPrefix = "/assets/upload/"
    static let downloadPrefix = "/assets/file/"

    /// Returns the URL that takes an upload.
    static func upload(_ token: String, base: String) -> String { "\(base)\(uploadPrefix)\(token)" }

    /// Returns the URL of a file, with `${f}` for the client to replace by a name of its choice.
    static func download(_ token: String, base: String) -> String { "\(base)\(downloadPrefix)\(token)/${f}" }
}
