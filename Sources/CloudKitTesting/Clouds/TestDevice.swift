import CloudKit
import CloudKitClient
import CloudKitDevice
import Foundation

/// A device of a test cloud, with its own credentials, keys and network.
public final class TestDevice: Sendable {
    /// The name in the account's list of devices.
    public let name: String
    /// The network between the device and the cloud, in which the test can inject faults.
    public let network = TestNetwork()
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
        profile = UUID().uuidString
    }

    /// Returns a container as an app on this device sees it.
    ///
    /// - Parameter environment: Production has the schema that was deployed to it, and data of its own.
    public func container(
        _ identifier: String, _ environment: TestCloud.Environment = .development
    ) async throws -> CKContainer {
        CKContainer(
            identifier: identifier, configuration: try await configuration(for: identifier, environment),
            transport: transport,
            clientEnvironment: cloud.clock.clientEnvironment)
    }

    /// Makes `CKContainer.default()` return this device's container while the body runs, for code that does not take its
    /// container as an argument.
    ///
    /// Applies to the body's task and its child tasks; callbacks on other queues get the previous default.
    public func asDefault<Value>(
        _ identifier: String, _ body: (CKContainer) async throws -> Value
    ) async throws -> Value {
        let container = try await container(identifier)
        return try await CKContainer.$standIn.withValue(container) { try await body(container) }
    }

    /// Returns the environment variables with which another process, such as a command-line app, acts as this device.
    ///
    /// The process uses the network and the clock of the machine.
    public func environmentVariables(for container: String) async throws -> [String: String] {
        let configuration = try await configuration(for: container)
        var variables = [
            "CLOUDKIT_ENDPOINT": cloud.endpoint, "CLOUDKIT_CONTAINER": container,
            "CLOUDKIT_ENVIRONMENT": configuration.environment, "CLOUDKIT_PROFILE": profile,
        ]
        variables["CLOUDKIT_API_TOKEN"] = configuration.apiToken
        variables["XDG_DATA_HOME"] = cloud.running.storage.dataHome
        return variables
    }

    /// Signs in a user; a previously signed-in user is signed out.
    public func signIn(as user: TestUser) async throws {
        let configuration = try await configuration(for: Self.signInContainer)
        _ = try await signIn(configuration).signIn(
            email: user.email, password: user.password, deviceName: name, container: Self.signInContainer)
    }

    /// Signs out the device, as `welkin logout` does.
    public func signOut() async throws {
        let configuration = try await configuration(for: Self.signInContainer)
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
        NetworkTransport(network: network, clock: cloud.clock, address: address, real: HTTPTransport.shared)
    }

    private func configuration(
        for container: String, _ environment: TestCloud.Environment = .development
    ) async throws -> DeviceConfiguration {
        DeviceConfiguration(
            endpoint: cloud.running.devicesEndpoint, container: container, environment: environment.rawValue,
            apiToken: try await cloud.apiToken(of: container, environment),
            profile: profile, profilesFolder: profilesFolder)
    }
}
