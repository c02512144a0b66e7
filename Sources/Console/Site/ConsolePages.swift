import CloudKitHTTP
import CloudKitModel

/// The pages of the Console, in the order of the navigation. A new page is a type in a file of its own and a line here
/// (docs/console.md).
struct ConsolePages: Sendable {
    /// Every page.
    let pages: [any ConsolePage]

    /// The pages that need nothing but the cloud.
    private static let cloudPages: [any ConsolePage] = [
        ContainersPage(),
        PeoplePage(),
        AccountPage(),
        AccountRemovalPage(),
        KeyResetPage(),
        OperatorTokensPage(),
        ContainerPage(),
        DataPage(), DataQueryPage(), IndexPage(), RecordsPage(), RecordEditPage(), RecordDeletePage(),
        AssetPage(), ConsentPage(),
        ZonesPage(), ZonePage(), ExpireTokensPage(), PurgeZonePage(),
        SchemaPage(),
        SchemaTypePage(),
        SchemaRemovalPage(),
        SchemaRolePage(),
        SchemaTextPage(),
        SchemaExportPage(),
        SchemaDeploymentPage(),
        SchemaResetPage(),
        TokensPage(),
        FaultsPage(),
    ]

    private let paths: [PagePath]

    /// - Parameter logs: nil for a cloud without a log of requests.
    init(logs: ConsoleLogs? = nil) {
        pages =
            Self.cloudPages + [RecordPage(history: RecordHistory(store: logs?.store))] + (logs?.pages ?? [])
        paths = pages.map { PagePath($0.path) }
    }

    /// A page with the values of the parameters in its path.
    struct Match {
        var page: any ConsolePage
        var path: PagePath
        var parameters: [String: String]

        /// The container and environment of the page; nil for a page without.
        ///
        /// - Throws: `endpointNotFound` for what can be neither.
        func containerPath() throws(RequestFailure) -> ContainerPath? {
            guard path.hasContainer else { return nil }
            guard let container = parameters["container"].flatMap(ContainerID.init(checking:)),
                let environment = parameters["environment"].flatMap({ Environment(rawValue: $0) })
            else { throw .endpointNotFound }
            return ContainerPath(container: container, environment: environment)
        }
    }

    /// Finds the page of a path.
    ///
    /// - Parameter path: What follows the path of the Console, percent-encoded.
    /// - Throws: `endpointNotFound`.
    func match(_ path: Substring) throws(RequestFailure) -> Match {
        // The path of the Console itself shows its first page.
        let path = path.isEmpty || path == "/" ? "/\(pages[0].path)" : path
        for (page, pattern) in zip(pages, paths) {
            if let parameters = pattern.match(path) { return Match(page: page, path: pattern, parameters: parameters) }
        }
        throw .endpointNotFound
    }

    /// Returns the links to pages of the whole cloud.
    func cloudLinks(for scope: PageScope, current: String?) -> [PageFrame.Link] {
        zip(pages, paths).compactMap { page, path in
            guard let title = page.navigation, !path.hasContainer, scope.admits(page, in: nil),
                let address = path.address([:])
            else { return nil }
            return PageFrame.Link(title: title, address: address, isCurrent: page.path == current)
        }
    }

    /// Returns the links to pages of a container and environment.
    func containerLinks(_ place: ContainerPath, current: String?) -> [PageFrame.Link] {
        zip(pages, paths).compactMap { page, path in
            guard let title = page.navigation, path.hasContainer, let address = path.address(place.parameters) else {
                return nil
            }
            return PageFrame.Link(
                title: title, address: address, isCurrent: page.path == current,
                isAbove: page.path != Self.containerHomePath && current?.hasPrefix(page.path + "/") == true)
        }
    }

    /// The path of a container's first page, which all its pages are below.
    private static let containerHomePath = "containers/{container}/{environment}"
}

extension ContainerPath {
    /// The values of the parameters in paths.
    var parameters: [String: String] { ["container": container.name, "environment": environment.rawValue] }

    /// The same container's other environment.
    var other: ContainerPath {
        ContainerPath(
            container: container, environment: environment == .production ? .development : .production)
    }
}

extension ContainerID {
    /// Creates the name of a container; nil for a text that cannot be one.
    fileprivate init?(checking name: String) {
        guard ContainerPath.isContainerName(name) else { return nil }
        self.init(name)
    }
}
