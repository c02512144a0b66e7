/// The name of a container, such as `iCloud.com.example.app`.
package struct ContainerID: Hashable, Sendable, CustomStringConvertible {
    package let name: String

    package init(_ name: String) { self.name = name }

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

    package init?(word: String) {
        guard let scope = Self.allCases.first(where: { $0.word == word }) else { return nil }
        self = scope
    }
}

/// One database of one container in one environment, as the caller sees it.
package struct DatabaseAddress: Hashable, Sendable {
    package let container: ContainerID
    package let environment: Environment
    package let scope: DatabaseScope

    package init(container: ContainerID, environment: Environment, scope: DatabaseScope) {
        self.container = container
        self.environment = environment
        self.scope = scope
    }
}
