import CloudKitModel
import TextEncodings

/// What a request's path asks for.
struct Route: Hashable {
    var endpoint: Endpoint
    /// nil for pages.
    var place: Place?
    /// nil for pages and for endpoints without a database segment.
    var scope: DatabaseScope?
    /// The short GUID of a share's link, `/share/{guid}`.
    var shareGUID: String?
    /// Whose notifications a courier's URL gives; sealed, and a secret.
    var courierPath: Substring?
    /// Whether it lies below `/admin`.
    var isForOperators = false

    /// A container in one environment.
    struct Place: Hashable {
        var container: ContainerID
        var environment: Environment
    }

    /// Finds what a path asks for (docs/web-services.md §1).
    ///
    /// - Parameter path: As received, percent-encoded, without the query.
    /// - Throws: `endpointNotFound`, `badContainer`, `badRequest`.
    init(path: Substring) throws(RequestFailure) {
        if path.utf8.count <= Self.pageBytesMax, let page = Self.pages[path] {
            self.init(endpoint: page)
            return
        }
        if path.utf8.starts(with: Self.sharePrefix.utf8), let guid = Self.shareGUID(path) {
            self.init(endpoint: .sharePage)
            shareGUID = guid
            return
        }
        if path.utf8.starts(with: Self.courierPrefix.utf8) {
            self.init(endpoint: .courier)
            courierPath = path.dropFirst(Self.courierPrefix.count)
            return
        }
        // Bytes, not characters: this runs for every request.
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 6, omittingEmptySubsequences: false)
            .map { Substring($0) }
        guard parts.count >= 6, parts[0].isEmpty, parts[2] == "1" else { throw Self.notFound }
        switch parts[1] {
        case "database":
            guard parts.count == 7, let endpoint = Endpoint.ofDatabase[parts[6]] else { throw Self.notFound }
            guard let scope = DatabaseScope(word: String(parts[5])) else { throw Self.unknownDatabase }
            self.init(endpoint: endpoint, place: try Self.place(parts[3], parts[4]), scope: scope)
        case "device":
            let name = path[parts[5].startIndex...]
            guard let endpoint = Endpoint.ofDevice[name] else { throw Self.notFound }
            self.init(endpoint: endpoint, place: try Self.place(parts[3], parts[4]))
        case "admin":
            guard let endpoint = Endpoint.ofAdmin[path[parts[5].startIndex...]] else { throw Self.notFound }
            self.init(endpoint: endpoint, place: try Self.place(parts[3], parts[4]))
            isForOperators = true
        default: throw Self.notFound
        }
    }

    private init(endpoint: Endpoint, place: Place? = nil, scope: DatabaseScope? = nil) {
        self.endpoint = endpoint
        self.place = place
        self.scope = scope
    }

    private static let pages: [Substring: Endpoint] = [
        "/": .landingPage, "": .landingPage, "/sign-in": .signInPage, "/sign-up": .signUpPage,
        "/sign-in.js": .signInScript, "/share.js": .shareScript,
        "/notifications": .notificationsPage, "/notifications.js": .notificationsScript,
        "/notifications-worker.js": .notificationsWorker,
        "/style.css": .styleSheet, "/health": .health, "/metrics": .metrics,
    ]

    private static let sharePrefix = "/share/"

    private static func shareGUID(_ path: Substring) -> String? {
        let guid = path.dropFirst(sharePrefix.count)
        guard (1...64).contains(guid.utf8.count), guid.utf8.allSatisfy(isGUIDByte) else { return nil }
        return String(guid)
    }

    private static func isGUIDByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// What the path of a web courier's URL begins with.
    static let courierPrefix = "/courier/"

    /// The longest page's.
    private static let pageBytesMax = 24

    private static func place(_ container: Substring, _ environment: Substring) throws(RequestFailure) -> Place {
        guard let name = String(percentEncoded: container.utf8), isContainerName(name) else {
            throw RequestFailure(
                .badContainer, "bad container name",
                remedy: "Use 1 to 255 letters, digits, dots, hyphens and underscores.")
        }
        guard let environment = Environment(rawValue: String(environment)) else {
            throw RequestFailure(
                .badRequest, "unknown environment", remedy: "It is development or production.")
        }
        return Place(container: ContainerID(name), environment: environment)
    }

    /// Whether a text can name a container: it ends up in keys, logs and pages.
    static func isContainerName(_ name: String) -> Bool {
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

    static let notFound = RequestFailure(.endpointNotFound, "could not find handler for endpoint")
    private static let unknownDatabase = RequestFailure(
        .badRequest, "unknown database", remedy: "It is public, private or shared.")
}
