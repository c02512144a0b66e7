/// The reason why a link cannot be opened.
package enum LinkError: Error, Hashable, Sendable, CustomStringConvertible {
    case notALink(String)
    case otherCloud(String)
    case unknown
    /// More than one profile could open it.
    case severalProfiles([String])

    /// A textual form of the value, for logs and debugging.
    package var description: String {
        switch self {
        case .notALink(let text): "'\(text)' is no link to a share"
        case .otherCloud(let endpoint):
            "the link leads to the cloud at \(endpoint): give that with --endpoint, or sign in there"
        case .unknown: "the link leads nowhere, or you were not invited with this account"
        case .severalProfiles(let names):
            "several profiles are signed in there (\(names.joined(separator: ", "))): choose one with --profile"
        }
    }
}
