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
    private var databaseEndpoints: [String: Route] = [:]
    private var databaseAliases: [String: Route] = [:]
    private var deviceEndpoints: [String: Route] = [:]
    private var operatorEndpoints: [String: Route] = [:]
    /// By the first component of their paths.
    private var prefixes: [Substring: [Prefix]] = [:]
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
        prefixes[Self.firstPart(of: prefix[...]), default: []].append(
            Prefix(text: prefix, route: route, parameter: parameter))
    }

    /// Adds an endpoint below `/database/1/{container}/{environment}/{database}/`.
    mutating func addDatabaseEndpoint(
        _ name: EndpointName, _ methods: AllowedMethods, handler: @escaping RequestHandler
    ) {
        databaseEndpoints[name.rawValue] = Route(
            endpoint: RoutedEndpoint(name: name, methods: methods), handler: handler)
    }

    /// Adds an endpoint below `/database/1/{container}/{environment}/`, where some documents have it.
    ///
    /// - Parameter scope: The database whose rules about callers apply; nil for an endpoint without a database.
    mutating func addDatabaseAlias(
        _ name: EndpointName, _ methods: AllowedMethods, scope: DatabaseScope? = nil,
        handler: @escaping RequestHandler
    ) {
        databaseAliases[name.rawValue] = Route(
            endpoint: RoutedEndpoint(name: name, methods: methods, scope: scope), handler: handler)
    }

    /// Adds an endpoint below `/device/1/{container}/{environment}/`.
    mutating func addDeviceEndpoint(
        _ name: EndpointName, _ methods: AllowedMethods, handler: @escaping RequestHandler
    ) {
        deviceEndpoints[name.rawValue] = Route(
            endpoint: RoutedEndpoint(name: name, methods: methods), handler: handler)
    }

    /// Adds an endpoint of operators, whose name begins with `admin/`, below `/admin/1/{container}/{environment}/`.
    mutating func addOperatorEndpoint(
        _ name: EndpointName, _ methods: AllowedMethods, handler: @escaping RequestHandler
    ) {
        operatorEndpoints[String(name.rawValue.dropFirst("admin/".count))] = Route(
            endpoint: RoutedEndpoint(name: name, methods: methods), handler: handler)
    }

    /// Removes the endpoints that a cloud that is strict about web services does not have.
    mutating func removeAdditions() {
        func isServed(_ route: Route) -> Bool { route.endpoint.name.isServedStrictly }
        pages = pages.filter { isServed($0.value) }
        databaseEndpoints = databaseEndpoints.filter { isServed($0.value) }
        databaseAliases = databaseAliases.filter { isServed($0.value) }
        deviceEndpoints = deviceEndpoints.filter { isServed($0.value) }
        prefixes = prefixes.mapValues { $0.filter { isServed($0.route) } }
    }

    /// Finds the endpoint that a path names.
    ///
    /// - Parameter path: As received, percent-encoded, without the query.
    /// - Throws: `endpointNotFound`, `badContainer`, `badRequest`.
    func route(for path: Substring) throws(RequestFailure) -> Route {
        if path.utf8.count <= pageBytesMax, let page = pages[path] { return page }
        var text = path
        if let found = text.withUTF8({ apiRoute(PathParts($0)) }) { return try found.get() }
        for prefix in prefixes[Self.firstPart(of: path)] ?? [] where path.utf8.starts(with: prefix.text.utf8) {
            guard let parameter = prefix.parameter(Substring(path.utf8.dropFirst(prefix.text.utf8.count))) else {
                continue
            }
            var route = prefix.route
            route.endpoint.parameter = parameter
            return route
        }
        throw .endpointNotFound
    }

    private static func firstPart(of path: Substring) -> Substring {
        Substring(path.utf8.dropFirst().prefix { $0 != UInt8(ascii: "/") })
    }

    /// Finds the endpoint behind `/database/`, `/device/` or `/admin/`; nil for other paths.
    private func apiRoute(_ path: PathParts) -> Result<Route, RequestFailure>? {
        var path = path
        guard path.next().isEmpty else { return nil }
        let kind = path.next()
        guard kind == "database" || kind == "device" || kind == "admin" else { return nil }
        return Result { () throws(RequestFailure) in
            guard path.next() == "1" else { throw .endpointNotFound }
            let (container, environment) = (path.nextBytes(), path.next())
            var route: Route
            switch kind {
            case "database": route = try databaseRoute(path)
            case "device": route = try Self.route(deviceEndpoints[path.text])
            default: route = try Self.route(operatorEndpoints[path.text])
            }
            route.endpoint.place = try ContainerPath(container, environment)
            return route
        }
    }

    /// Finds the endpoint behind a container and an environment, or behind these and a database.
    private func databaseRoute(_ path: PathParts) throws(RequestFailure) -> Route {
        var rest = path
        let database = rest.next()
        guard var route = databaseEndpoints[rest.text] else { return try Self.route(databaseAliases[path.text]) }
        guard let scope = DatabaseScope(word: database) else { throw Self.unknownDatabase }
        route.endpoint.scope = scope
        return route
    }

    private static func route(_ found: Route?) throws(RequestFailure) -> Route {
        guard let found else { throw .endpointNotFound }
        return found
    }

    private static let unknownDatabase = RequestFailure(
        .badRequest, "unknown database", remedy: "It is public, private or shared.")
}

extension ContainerPath {
    /// - Throws: `badContainer`, `badRequest`.
    fileprivate init(_ container: UnsafeBufferPointer<UInt8>, _ environment: String) throws(RequestFailure) {
        guard let name = String(percentEncoded: container), Self.isContainerName(name) else {
            throw RequestFailure(
                .badContainer, "bad container name",
                remedy: "Use 1 to 255 letters, digits, dots, hyphens and underscores.")
        }
        guard let environment = Environment(rawValue: environment) else {
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
