import CloudKitModel

/// An endpoint with the values of the request's path.
struct RoutedEndpoint: Sendable {
    var name: EndpointName
    var methods: AllowedMethods
    /// nil for pages and files.
    var place: ContainerPath?
    /// nil for pages and for endpoints without a database in their path.
    var scope: DatabaseScope?
    /// The part of the path that is different for every share, device or file; empty for other endpoints. It may be a secret.
    var parameter: Substring = ""
}

/// The container and the environment in a path.
struct ContainerPath: Hashable, Sendable {
    var container: ContainerID
    var environment: Environment
}
