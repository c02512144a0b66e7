import CloudKit
import CloudKitClient
import CloudKitDevice
import Foundation

/// A device of a test cloud, with its own credentials, keys and network.
public final class TestDevice: Sendable {
    /// The name in the account's list of devices.
    public let name: String
    /// The network between the device and the cloud, in which the test can inject faults.
    public let network: TestNetwork
    private let cloud: TestCloud
    private let profile: String
    private let profilesFolder: String
    private let address: ServerAddress

    /// The container for signing in; apps use their own.
    private static let signInContainer = "iCloud.com.example.tests"

    init(name: String, cloud: TestCloud) {
        let running = cloud.running
        self.name = name
        self.cloud = cloud
        profilesFolder = running.profilesFolder
        address = running.storage.address
        let profile = UUID().uuidString
        self.profile = profile
        let endpoint = running.devicesEndpoint
        network = TestNetwork { RetryGate.openAll(endpoint: endpoint, profile: profile) }
    }

    /// Returns a container as an app on this device sees it.
    ///
    /// - Parameters:
    ///   - identifier: The container's name.
    ///   - environment: Production has the schema that was deployed to it, and data of its own.
    public func container(
        _ identifier: String, _ environment: TestCloud.Environment = .development
    ) async throws -> CKContainer {
        CKContainer(
            identifier: identifier, configuration: configuration(for: identifier, environment), transport: transport,
            clientEnvironment: cloud.clock.clientEnvironment)
    }

    /// Makes `CKContainer.default()` and `CKContainer(identifier:)` return this device's containers while the body runs, for
    /// code that does not take its container as an argument.
    ///
    /// Applies to the body's task, to tasks that it starts with `Task`, and to what the framework calls on behalf of these:
    /// blocks of operations, completion handlers, delegates of sync engines. So any number of devices can be the default at
    /// the same time, each in a task of its own. Code that goes on in a detached task or on a dispatch queue of its own needs
    /// ``asProcessDefault(_:_:)``.
    public func asDefault<Value>(
        _ identifier: String, _ body: (CKContainer) async throws -> Value
    ) async throws -> Value {
        let container = try await container(identifier)
        return try await ContainerStandIn.$ofTask.withValue(standIn(container)) { try await body(container) }
    }

    /// Makes `CKContainer.default()` and `CKContainer(identifier:)` return this device's containers in the whole process while
    /// the body runs, also on dispatch queues and in detached tasks.
    ///
    /// One device at a time: another test that calls this waits until the body has ended. Within the body another device may
    /// take the place for a while, and tasks can have devices of their own by ``asDefault(_:_:)``.
    public func asProcessDefault<Value>(
        _ identifier: String, _ body: (CKContainer) async throws -> Value
    ) async throws -> Value {
        let container = try await container(identifier)
        return try await ProcessDefault.with(standIn(container)) { try await body(container) }
    }

    private func standIn(_ container: CKContainer) -> ContainerStandIn {
        ContainerStandIn(defaultContainer: container) { [self] identifier in
            CKContainer.connection(
                to: identifier, by: configuration(for: identifier), transport: transport,
                clientEnvironment: cloud.clock.clientEnvironment)
        }
    }

    /// Returns the environment variables with which another process, such as a command-line app, acts as this device.
    ///
    /// The process uses the network and the clock of the machine.
    public func environmentVariables(for container: String) async throws -> [String: String] {
        let configuration = configuration(for: container)
        try await cloud.registerAPITokens()
        var variables = [
            "CLOUDKIT_ENDPOINT": cloud.endpoint, "CLOUDKIT_CONTAINER": container,
            "CLOUDKIT_ENVIRONMENT": configuration.environment, "CLOUDKIT_PROFILE": profile,
        ]
        variables["CLOUDKIT_API_TOKEN"] = configuration.apiToken
        variables["XDG_DATA_HOME"] = cloud.running.storage.dataHome
        return variables
    }

    /// The settings, the network and the clock of this device, for code below the framework.
    ///
    /// - Parameter container: The container that the settings name; nil: the one that the device signs in with.
    package func parts(
        of container: String? = nil
    ) -> (configuration: DeviceConfiguration, transport: any Transport, clock: ClientClock) {
        (configuration(for: container ?? Self.signInContainer), transport, cloud.clock.clientEnvironment)
    }

    /// The container that the device signs in with.
    package static var firstContainer: String { signInContainer }

    /// Signs in a user; a previously signed-in user is signed out.
    public func signIn(as user: TestUser) async throws {
        let configuration = configuration(for: Self.signInContainer)
        _ = try await signIn(configuration).signIn(
            email: user.email, password: user.password, deviceName: name, container: Self.signInContainer)
    }

    /// Opens the link of a share on this device, as `welkin open` does after the user agreed: apps of its container get it
    /// from `CKContainer.openedShares()`, or by the delegates of `CloudKitUI`.
    ///
    /// - Parameters:
    ///   - link: The link.
    ///   - container: The container of the share.
    ///   - environment: The environment of the container.
    public func openShare(
        _ link: URL, in container: String, _ environment: TestCloud.Environment = .development
    ) throws {
        let folder = DeviceProfile(name: profile, in: profilesFolder).folder
        try OpenedShares(profileFolder: folder).put(
            OpenedShares.Entry(link: link.absoluteString, container: container, environment: environment.rawValue))
    }

    /// Signs out the device, as `welkin logout` does.
    public func signOut() async throws {
        let configuration = configuration(for: Self.signInContainer)
        try await signIn(configuration).signOut(container: Self.signInContainer)
    }

    /// Ends the device's session at the cloud, as its owner does for a lost device.
    public func revoke() async throws {
        let profile = DeviceProfile(name: profile, in: profilesFolder)
        guard let credentials = try profile.credentials() else { return }
        try await cloud.running.endSession(ofDevice: credentials.deviceID)
    }

    private func signIn(_ configuration: DeviceConfiguration) -> SignIn {
        SignIn(configuration: configuration, sendingBy: transport, rounds: RunningCloud.rounds)
    }

    private var transport: NetworkTransport {
        NetworkTransport(
            network: network, clock: cloud.clock, address: address, real: HTTPTransport.shared
        ) { [cloud] in try await cloud.registerAPITokens() }
    }

    private func configuration(
        for container: String, _ environment: TestCloud.Environment = .development
    ) -> DeviceConfiguration {
        DeviceConfiguration(
            endpoint: cloud.running.devicesEndpoint, container: container, environment: environment.rawValue,
            apiToken: cloud.apiToken(of: container, environment),
            profile: profile, profilesFolder: profilesFolder)
    }
}
