import CloudKitModel

/// An endpoint with the values of the request's path.
package struct RoutedEndpoint: Sendable {
    var name: EndpointName
    var methods: AllowedMethods
    /// nil for pages and files.
    var place: ContainerPath?
    /// nil for pages and for endpoints without a database in their path.
    var scope: DatabaseScope?
    /// The part of the path that is different for every share, device or file; empty for other endpoints. It may be a secret.
    package var parameter: Substring = ""
}

/// The container and the environment in a path.
package struct ContainerPath: Hashable, Sendable {
    /// The container.
    package var container: ContainerID
    /// The environment.
    package var environment: Environment

    /// Creates the place of an environment of a container.
    package init(container: ContainerID, environment: Environment) {
        self.container = container
        self.environment = environment
    }
}
