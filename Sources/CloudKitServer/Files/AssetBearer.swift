import CloudKitModel
import CloudKitRecordLayer

/// The user, container and environment for which the URL of a file was issued: requests to it bring nothing but the URL.
package struct AssetBearer: Hashable, Sendable {
    /// The container of the file.
    package var container: ContainerID
    /// The environment of the file.
    package var environment: Environment
    /// nil: no user was signed in.
    package var user: UserID?

    /// Creates a bearer; the user is nil where no user was signed in.
    package init(container: ContainerID, environment: Environment, user: UserID?) {
        self.container = container
        self.environment = environment
        self.user = user
    }

    func write(to value: inout ValueWriter) {
        value.add(container.name)
        value.add(environment.rawValue)
        value.add(user?.recordName)
    }

    init(reading value: inout ValueReader) throws {
        container = ContainerID(try value.text())
        guard let environment = Environment(rawValue: try value.text()) else {
            throw RequestFailure(.internalError, "a file's URL is of no environment")
        }
        self.environment = environment
        user = try value.optionalText().map { UserID($0) }
    }
}

extension Faults {
    /// Refuses a request to a file's URL that a fault affects.
    package func check(_ bearer: AssetBearer) async throws {
        try await check(bearer.user, in: bearer.container, bearer.environment)
    }
}
