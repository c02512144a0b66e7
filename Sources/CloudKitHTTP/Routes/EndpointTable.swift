import CloudKitModel
import CloudKitServer
import TextEncodings

/// The endpoints of a cloud by their paths (docs/web-services.md §1): a name, the methods it takes, and the handler.
struct EndpointTable: Sendable {
    /// An endpoint and its handler.
    struct Route: Sendable {
        var endpoint: RoutedEndpoint
        var handler: RequestHandler
    }

    private var pages: [Substring: Route] = [:]
    private var databaseEndpoints: [Substring: Route] = [:]
    private var databaseAliases: [Substring: Route] = [:]
    private var deviceEndpoints: [Substring: Route] = [:]
    private var operatorEndpoints: [Substring: Route] = [:]
    private var prefixes: [Prefix] = []
    private var pageBytesMax = 0

    /// A path of which the beginning is fixed.
    private struct Prefix: Sendable {
        var text: String
        var route: Route
        /// Returns the parameter in the rest of a path; nil for a rest that is none.
        var parameter: @Sendable (Substring) -> Substring?
    }

    /// Adds an endpoint with a path of its own.
    mutating func addPage(
        _ name: EndpointName, at paths: [String], methods: AllowedMethods = .get, handler: @escaping RequestHandler
    ) {
        for path in paths {
            pages[path[...]] = Route(endpoint: RoutedEndpoint(name: name, methods: methods), handler: handler)
            pageBytesMax = max(pageBytesMax, path.utf8.count)
        }
    }

    /// Adds an endpoint for all paths with a beginning and a parameter behind it.
    mutating func addPrefix(
        _ name: EndpointName, at prefix: String, methods: AllowedMethods = .get,
        parameter: @escaping @Sendable (Substring) -> Substring?, handler: @escaping RequestHandler
    ) {
        let endpoint = RoutedEndpoint(name: name, methods: methods)
        let route = Route(endpoint: endpoint, handler: handler)
        prefixes.append(Prefix(text: prefix, route: route, parameter: parameter))
    }

    /// Adds an endpoint below `/database/1/{container}/{environment}/{database}/`.
    mutating func addDatabaseEndpoint(
        _ name: EndpointName, _ methods: AllowedMethods, handler: @escaping RequestHandler
    ) {
        databaseEndpoints[name.rawValue[...]] = Route(
            endpoint: RoutedEndpoint(name: name, methods: methods), handler: handler)
    }

    /// Adds an endpoint below `/database/1/{container}/{environment}/`, where some documents have it.
    ///
    /// - Parameter scope: The database whose rules about callers apply; nil for an endpoint without a database.
    mutating func addDatabaseAlias(
        _ name: EndpointName, _ methods: AllowedMethods, scope: DatabaseScope? = nil,
        handler: @escaping RequestHandler
    ) {
        databaseAliases[name.rawValue[...]] = Route(
            endpoint: RoutedEndpoint(name: name, methods: methods, scope: scope), handler: handler)
    }

    /// Adds an endpoint below `/device/1/{container}/{environment}/`.
    mutating func addDeviceEndpoint(
        _ name: EndpointName, _ methods: AllowedMethods, handler: @escaping RequestHandler
    ) {
        deviceEndpoints[name.rawValue[...]] = Route(
            endpoint: RoutedEndpoint(name: name, methods: methods), handler: handler)
    }

    /// Adds an endpoint of operators, whose name begins with `admin/`, below `/admin/1/{container}/{environment}/`.
    mutating func addOperatorEndpoint(
        _ name: EndpointName, _ methods: AllowedMethods, handler: @escaping RequestHandler
    ) {
        operatorEndpoints[name.rawValue.dropFirst("admin/".count)] = Route(
            endpoint: RoutedEndpoint(name: name, methods: methods), handler: handler)
    }

    /// Removes the endpoints that a cloud that is strict about web services does not have.
    mutating func removeAdditions() {
        func isServed(_ route: Route) -> Bool { route.endpoint.name.isServedStrictly }
        pages = pages.filter { isServed($0.value) }
        databaseEndpoints = databaseEndpoints.filter { isServed($0.value) }
        databaseAliases = databaseAliases.filter { isServed($0.value) }
        deviceEndpoints = deviceEndpoints.filter { isServed($0.value) }
        prefixes.removeAll { !isServed($0.route) }
    }

    /// Finds the endpoint that a path names.
    ///
    /// - Parameter path: As received, percent-encoded, without the query.
    /// - Throws: `endpointNotFound`, `badContainer`, `badRequest`.
    func route(for path: Substring) throws(RequestFailure) -> Route {
        if path.utf8.count <= pageBytesMax, let page = pages[path] { return page }
        for prefix in prefixes where path.utf8.starts(with: prefix.text.utf8) {
            guard let parameter = prefix.parameter(Substring(path.utf8.dropFirst(prefix.text.utf8.count))) else {
                continue
            }
            var route = prefix.route
            route.endpoint.parameter = parameter
            return route
        }
        // Bytes, not characters: this runs for every request.
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 6, omittingEmptySubsequences: false)
            .map { Substring($0) }
        guard parts.count >= 6, parts[0].isEmpty, parts[2] == "1" else { throw .endpointNotFound }
        let found: Route?
        var scope: DatabaseScope?
        switch parts[1] {
        case "database":
            if let alias = databaseAliases[path[parts[5].startIndex...]] {
                found = alias
                scope = alias.endpoint.scope
            } else if parts.count == 7, let endpoint = databaseEndpoints[parts[6]] {
                found = endpoint
                scope = DatabaseScope(word: String(parts[5]))
                guard scope != nil else { throw Self.unknownDatabase }
            } else {
                found = nil
            }
        case "device": found = deviceEndpoints[path[parts[5].startIndex...]]
        case "admin": found = operatorEndpoints[path[parts[5].startIndex...]]
        default: found = nil
        }
        guard var route = found else { throw .endpointNotFound }
        route.endpoint.place = try ContainerPath(parts[3], parts[4])
        route.endpoint.scope = scope
        return route
    }

    private static let unknownDatabase = RequestFailure(
        .badRequest, "unknown database", remedy: "It is public, private or shared.")
}

extension ContainerPath {
    /// - Throws: `badContainer`, `badRequest`.
    fileprivate init(_ container: Substring, _ environment: Substring) throws(RequestFailure) {
        guard let name = String(percentEncoded: container.utf8), Self.isContainerName(name) else {
            throw RequestFailure(
                .badContainer, "bad container name",
                remedy: "Use 1 to 255 letters, digits, dots, hyphens and underscores.")
        }
        guard let environment = Environment(rawValue: String(environment)) else {
            throw RequestFailure(
                .badRequest, "unknown environment", remedy: "It is development or production.")
        }
        self.init(container: ContainerID(name), environment: environment)
    }

    /// Returns whether a text can name a container: it ends up in keys, logs and pages.
    package static func isContainerName(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
