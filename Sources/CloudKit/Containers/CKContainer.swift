import CloudKitClient
import CloudKitDevice
import CloudKitModel
import Foundation

/// The databases of an app: one public database, and a private and a shared one for each user (B-DB-01).
///
/// The device's configuration names the cloud, the default container and the account: `CLOUDKIT_ENDPOINT`,
/// `CLOUDKIT_CONTAINER`, `CLOUDKIT_ENVIRONMENT`, `CLOUDKIT_API_TOKEN` and `CLOUDKIT_PROFILE` in the process's
/// environment, a `cloudkit.json`, or else the profile that is signed in on this machine. Without any of them every
/// operation fails with `CKError.badContainer`, and its description says what is missing.
/// With credentials for web services in it (`webServices` in `cloudkit.json`) the container speaks documented CloudKit Web Services
/// alone, as with Apple's service; what they cannot do fails with `CKError.serverRejectedRequest`.
public final class CKContainer: NSObject, Sendable {
    /// The container's name; nil when none is configured.
    public var containerIdentifier: String? { connection.identifier }
    /// The user's own data. Exists also when no user is signed in; its operations then fail (B-DB-02).
    public let privateCloudDatabase: CKDatabase
    /// The data that all users of the app share.
    public let publicCloudDatabase: CKDatabase
    /// The data that other users have shared with the user.
    public let sharedCloudDatabase: CKDatabase

    let connection: ContainerConnection
    /// Runs the operations that are added to the container or its databases.
    let operations: OperationQueue

    init(
        connection: ContainerConnection, operations: OperationQueue = OperationQueue(),
        defaults: CallDefaults = CallDefaults()
    ) {
        self.connection = connection
        self.operations = operations
        privateCloudDatabase = CKDatabase(
            connection: connection, operations: operations, scope: .private, defaults: defaults)
        publicCloudDatabase = CKDatabase(
            connection: connection, operations: operations, scope: .public, defaults: defaults)
        sharedCloudDatabase = CKDatabase(
            connection: connection, operations: operations, scope: .shared, defaults: defaults)
        super.init()
    }

    /// The container with this name, such as `iCloud.com.example.app`.
    public convenience init(identifier containerIdentifier: String) {
        self.init(
            connection: ContainerStandIn.current?.connection(containerIdentifier)
                ?? Self.configuredConnection(containerIdentifier, profile: nil))
    }

    /// A container as another profile of this machine sees it, so that several devices and users live in one process.
    ///
    /// Welkin's own addition: Apple's framework knows one account on a device.
    ///
    /// - Parameters:
    ///   - containerIdentifier: The identifier of the container.
    ///   - profile: The profile's name; nil for the configured one.
    public convenience init(identifier containerIdentifier: String, profile: String?) {
        self.init(connection: Self.configuredConnection(containerIdentifier, profile: profile))
    }

    /// Creates a container from explicit parts, for tests and tools.
    ///
    /// - Parameters:
    ///   - endpoint: Scheme, host and port, without a trailing slash.
    ///   - account: The account of the signed-in user.
    ///   - surface: The protocol in which the cloud is spoken to.
    ///   - operationsFolder: The folder of long-lived operations; nil: they are not kept.
    ///   - assetCache: The folder of fetched files; nil: a folder that is removed with the container.
    ///   - pieceBytes: The number of bytes of a file that are sent or fetched at a time; nil: some MiB.
    package convenience init(
        identifier: String, endpoint: String, environment: CloudKitModel.Environment = .development,
        account: any DeviceAccount, transport: any Transport, surface: CloudSurface = .native,
        clientEnvironment: ClientClock = .system, epochs: EpochStore = EpochStore(), operationsFolder: String? = nil,
        assetCache: AssetCacheSettings? = nil,
        pieceBytes: Int? = nil
    ) {
        let place = ContainerEndpoint(
            endpoint: endpoint, container: ContainerID(identifier), environment: environment)
        self.init(
            connection: ContainerConnection(
                identifier: identifier, place: .success(place), account: account, transport: transport,
                surface: surface, clientEnvironment: clientEnvironment,
                longLivedStore: operationsFolder.map { LongLivedStore(folder: $0) },
                epochs: epochs, assets: assetCache.map(AssetCache.init) ?? AssetCache(),
                pieceBytes: pieceBytes ?? PieceSizing.pieceBytesDefault))
    }

    /// A container by an explicit configuration instead of the process's own.
    ///
    /// - Parameter identifier: nil: the configuration's container.
    package convenience init(
        identifier: String? = nil, configuration: DeviceConfiguration,
        transport: any Transport = HTTPTransport.shared, clientEnvironment: ClientClock = .system
    ) {
        self.init(
            connection: Self.connection(
                to: identifier, by: configuration, transport: transport, clientEnvironment: clientEnvironment))
    }

    /// Returns the connection of a container by an explicit configuration.
    ///
    /// - Parameter identifier: nil: the configuration's container.
    package static func connection(
        to identifier: String?, by configuration: DeviceConfiguration, transport: any Transport,
        clientEnvironment: ClientClock
    ) -> ContainerConnection {
        ContainerConnection(
            configuration, identifier: identifier, transport: transport, clientEnvironment: clientEnvironment,
            accountChanged: postAccountChanged)
    }

    private static func configuredConnection(_ identifier: String?, profile: String?) -> ContainerConnection {
        .configured(identifier: identifier, profile: profile, accountChanged: postAccountChanged)
    }

    static func postAccountChanged() { NotificationCenter.default.post(name: .CKAccountChanged, object: nil) }

    /// A textual form of the value, for logs and debugging.
    public override var description: String {
        "<CKContainer: \(addressText(of: self)); containerIdentifier=\(containerIdentifier ?? "(null)")>"
    }

    private static let configured = CKContainer(connection: configuredConnection(nil, profile: nil))

    /// The configured container; the same object each time.
    public class func `default`() -> CKContainer { ContainerStandIn.current?.defaultContainer ?? configured }

    /// One of the three databases.
    public func database(with databaseScope: CKDatabase.Scope) -> CKDatabase {
        switch databaseScope {
        case .public: publicCloudDatabase
        case .private: privateCloudDatabase
        case .shared: sharedCloudDatabase
        }
    }

    /// Starts an operation. A database operation without a database works on this container's private one (B-DB-15).
    public func add(_ operation: CKOperation) {
        operation.enqueue(on: operations) { operation.adopt(self) }
    }

    /// Hands out a container whose convenience functions use this configuration and group.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (CKContainer) throws -> R
    ) rethrows -> R {
        try body(
            CKContainer(
                connection: connection, operations: operations, defaults: CallDefaults(configuration, group)))
    }

    /// Hands out a container whose convenience functions use this configuration and group.
    ///
    /// The closure may be `@Sendable`, isolated to an actor or neither, and its result need not be `Sendable`.
    @discardableResult @preconcurrency
    nonisolated(nonsending) public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (CKContainer) async throws -> R
    ) async rethrows -> R {
        try await body(
            CKContainer(
                connection: connection, operations: operations, defaults: CallDefaults(configuration, group)))
    }
}
