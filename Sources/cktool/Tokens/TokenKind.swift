import ArgumentParser

/// The kind of a token: for schemas, or for the records of a user.
enum TokenKind: String, ExpressibleByArgument, CaseIterable, Codable, Sendable {
    case management
    case user

    /// The environment variable that holds a token of the kind.
    var variable: String {
        switch self {
        case .management: "CLOUDKIT_MANAGEMENT_TOKEN"
        case .user: "CLOUDKIT_USER_TOKEN"
        }
    }
}

/// The place where tokens are kept. On Linux both mean the same file, which only its owner can read.
enum TokenMethod: String, ExpressibleByArgument, CaseIterable {
    case file
    case keychain
}
