/// The name of a container, such as `iCloud.com.example.app`.
package struct ContainerID: Hashable, Sendable, CustomStringConvertible {
    /// The name of the container.
    package let name: String

    /// Creates the id of a container.
    package init(_ name: String) { self.name = name }

    /// A textual form of the value, for logs and debugging.
    package var description: String { name }
}

/// Development and production hold separate data, schemas and tokens (B-DB-01).
package enum Environment: String, Hashable, Sendable, CaseIterable {
    case development, production
}

/// Which of a container's databases; the raw values are those of `CKDatabase.Scope`.
package enum DatabaseScope: Int, Hashable, Sendable, CaseIterable {
    case `public` = 1
    case `private` = 2
    case shared = 3

    /// The word in a URL.
    package var word: String {
        switch self {
        case .public: "public"
        case .private: "private"
        case .shared: "shared"
        }
    }

    /// Creates the scope of a word of web services; nil if it is none.
    package init?(word: String) {
        switch word {
        case "public": self = .public
        case "private": self = .private
        case "shared": self = .shared
        default: return nil
        }
    }
}

/// One database of one container in one environment, as the caller sees it.
package struct DatabaseAddress: Hashable, Sendable {
    /// The container.
    package let container: ContainerID
    /// The environment.
    package let environment: Environment
    /// The scope of the database.
    package let scope: DatabaseScope

    /// Creates a value with the given properties.
    package init(container: ContainerID, environment: Environment, scope: DatabaseScope) {
        self.container = container
        self.environment = environment
        self.scope = scope
    }
}
