/// What a path below `/assets` asks for: the paths that this cloud puts into its own answers.
enum AssetRoute: Hashable {
    case upload(token: String)
    case download(token: String)

    /// nil for other paths.
    ///
    /// - Parameter path: As received, without the query. What follows a download's token is a file name of the client's
    ///   choice, or the four characters that stand for one, percent-encoded or not (docs/web-services.md §7).
    init?(path: Substring) {
        guard path.utf8.starts(with: Self.prefix.utf8) else { return nil }
        let parts = path.utf8.dropFirst(Self.prefix.utf8.count).split(
            separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false
        ).map { String(Substring($0)) }
        switch parts.first {
        case "upload" where parts.count == 2: self = .upload(token: parts[1])
        case "file" where parts.count >= 2: self = .download(token: parts[1])
        default: return nil
        }
    }

    var endpoint: Endpoint {
        switch self {
        case .upload: .assetUpload
        case .download: .assetDownload
        }
    }

    /// The URL that takes an upload.
    static func uploadURL(_ token: String, base: String) -> String { "\(base)\(prefix)upload/\(token)" }

    /// The URL of a file, with `${f}` for the client to replace by a name of its choice.
    static func downloadURL(_ token: String, base: String) -> String { "\(base)\(prefix)file/\(token)/${f}" }

    private static let prefix = "/assets/"
}
