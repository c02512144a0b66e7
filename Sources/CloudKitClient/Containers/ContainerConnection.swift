import CloudKitDevice
import CloudKitEncryption
import CloudKitModel
import Foundation
import TextEncodings

/// The state that the databases of one container share: the way to the cloud, the keys, the files, the notifications.
package final class ContainerConnection: Sendable {
    /// The identifier of the container as the app gave it; nil: the configured container.
    package let identifier: String?
    /// The profile's; nil: nothing is kept on disk.
    package let folder: String?
    /// The location of the cloud, the account and the transport.
    package let cloud: CloudAccess
    /// Opens and seals encrypted values.
    let keys: KeyRing
    /// Follows the cloud's directory of identities.
    let directory: DirectoryFollower
    /// Delivers notifications to listeners.
    package let notifications: NotificationHub
    /// The cache of fetched files.
    package let assets: AssetCache
    /// Bytes of a file that are sent or fetched at a time.
    let pieceBytes: Int
    /// The store of operations that outlive their process; nil: none.
    package let longLivedStore: LongLivedStore?
    private let accountMonitor: AccountMonitor?

    /// Creates a connection from its parts.
    package init(
        identifier: String?, place: Result<ContainerEndpoint, CallFailure>, account: any DeviceAccount,
        transport: any Transport, surface: CloudSurface = .native, clientEnvironment: ClientClock = .system,
        gate: RetryGate = RetryGate(), notifications: NotificationHub = NotificationHub(),
        longLivedStore: LongLivedStore? = nil,
        accountMonitor: AccountMonitor? = nil,
        epochs: EpochStore = EpochStore(),
        assets: AssetCache = AssetCache(), pieceBytes: Int = PieceSizing.pieceBytesDefault,
        folder: String? = nil
    ) {
        self.identifier = identifier
        self.folder = folder
        cloud = CloudAccess(
            place: place, account: account, transport: transport, surface: surface,
            clientEnvironment: clientEnvironment,
            gate: gate,
            restorations: RestorationFollower(folder: folder, endpoint: (try? place.get().endpoint) ?? ""))
        self.notifications = notifications
        self.longLivedStore = longLivedStore
        self.accountMonitor = accountMonitor
        self.assets = assets
        self.pieceBytes = pieceBytes
        directory = DirectoryFollower(folder: folder, endpoint: (try? place.get().endpoint) ?? "")
        keys = KeyRing(account: account, place: try? place.get(), epochs: epochs, folder: folder)
    }

    /// Returns the connection for this process's configuration, or else for the profile that is signed in; without either, every
    /// call reports what is missing.
    ///
    /// - Parameters:
    ///   - identifier: nil: the configured container.
    ///   - profile: nil: the configured profile.
    ///   - variables: The variables of the process.
    ///   - workingFolder: The folder with a `cloudkit.json`, if any.
    ///   - accountChanged: Called after each change of the account, on an arbitrary thread.
    package static func configured(
        identifier: String?, profile: String?, transport: any Transport = HTTPTransport.shared,
        variables: [String: String] = ProcessInfo.processInfo.environment,
        workingFolder: String = FileManager.default.currentDirectoryPath,
        accountChanged: @escaping @Sendable () -> Void
    ) -> ContainerConnection {
        do throws(DeviceConfigurationError) {
            var variables = variables
            if let profile {
                guard DeviceProfile.isValidName(profile) else { throw .profileNameInvalid(profile) }
                variables["CLOUDKIT_PROFILE"] = profile
            }
            let configuration = try DeviceConfiguration.ofSignedInDevice(
                container: identifier, variables: variables, workingFolder: workingFolder)
            return ContainerConnection(
                configuration, identifier: identifier, transport: transport, accountChanged: accountChanged)
        } catch {
            return unconfigured(identifier: identifier, reason: error.description, transport: transport)
        }
    }

    private static func unconfigured(
        identifier: String?, reason: String, transport: any Transport
    ) -> ContainerConnection {
        ContainerConnection(
            identifier: identifier, place: .failure(.misconfigured(reason)), account: NoAccount(), transport: transport)
    }

    /// Creates the connection of a configured device, or of an app that speaks documented web services alone.
    package convenience init(
        _ configuration: DeviceConfiguration, identifier: String?, transport: any Transport,
        clientEnvironment: ClientClock = .system, accountChanged: @escaping @Sendable () -> Void
    ) {
        let name = identifier ?? configuration.container
        let environment = CloudKitModel.Environment(rawValue: configuration.environment) ?? .development
        let place: Result<ContainerEndpoint, CallFailure> =
            if let name, !name.isEmpty {
                .success(
                    ContainerEndpoint(
                        endpoint: configuration.endpoint, container: ContainerID(name), environment: environment))
            } else {
                .failure(.misconfigured(Self.containerMissing))
            }
        if let credentials = configuration.webServices {
            self.init(
                webServices: credentials, of: configuration, identifier: name, place: place, transport: transport,
                clientEnvironment: clientEnvironment)
            return
        }
        let account = ProfileAccount(configuration: configuration, container: name ?? "", transport: transport)
        self.init(
            identifier: name, place: place, account: account, transport: transport,
            clientEnvironment: clientEnvironment,
            gate: RetryGate.shared(
                endpoint: configuration.endpoint, container: name ?? "", environment: configuration.environment,
                profile: configuration.profile),
            notifications: NotificationHub.shared(
                NotificationHub.Key(
                    endpoint: configuration.endpoint, container: name ?? "", environment: configuration.environment,
                    profile: configuration.profile, folder: configuration.deviceProfile.folder)),
            longLivedStore: name.map { name in
                let place = "\(name.percentEncoded)-\(configuration.environment.percentEncoded)"
                return LongLivedStore(folder: configuration.deviceProfile.folder + "/operations/" + place)
            },
            accountMonitor: AccountMonitor(account, changed: accountChanged),
            epochs: EpochStore(folder: configuration.deviceProfile.folder),
            assets: .shared(configuration.assetCache?.folder(of: configuration.profile)),
            folder: configuration.deviceProfile.folder)
    }

    /// Creates the connection of an app that speaks documented web services alone.
    private convenience init(
        webServices credentials: WebServicesCredentials, of configuration: DeviceConfiguration, identifier: String?,
        place: Result<ContainerEndpoint, CallFailure>, transport: any Transport, clientEnvironment: ClientClock
    ) {
        var place = place
        var signer: ServerKeySigner?
        do throws(CallFailure) {
            if case .serverKey(let id, let file) = credentials {
                guard let bytes = (try? PrivateFile.read(file)) ?? nil else {
                    throw .misconfigured("The file \(file) of the server-to-server key cannot be read.")
                }
                signer = try ServerKeySigner(keyID: id, pem: String(decoding: bytes, as: UTF8.self))
            }
        } catch {
            place = .failure(error)
        }
        self.init(
            identifier: identifier, place: place,
            account: WebServicesAccount(
                credentials: credentials, apiToken: configuration.apiToken(for: identifier ?? "")),
            transport: transport, surface: .webServices(WebServicesAccess(signer: signer)),
            clientEnvironment: clientEnvironment,
            gate: RetryGate.shared(
                endpoint: configuration.endpoint, container: identifier ?? "", environment: configuration.environment,
                profile: "web-services"),
            assets: .shared(configuration.assetCache?.folder(of: configuration.profile)))
    }

    private static let containerMissing =
        "No container is configured. Set CLOUDKIT_CONTAINER, for instance to iCloud.com.example.app, "
        + "or write it into cloudkit.json as \"container\", or use CKContainer(identifier:)."
}

/// The account of a device that does not even know its cloud.
private struct NoAccount: DeviceAccount {
    var state: AccountState { .couldNotDetermine }
    var apiToken: String? { nil }

    func webAuthToken() async throws -> String? { nil }
    func webAuthToken(insteadOf refused: String) async throws -> String? { nil }
    func webAuthToken(beside apiToken: String) async throws -> String? { nil }
    func keep(rotated token: String, of device: String) {}
    func secret() throws -> AccountSecret { throw CallFailure.notSignedIn }
    var userRecordName: String? { nil }
}
