import CloudKit
import CloudKitClient
import CloudKitDevice
import Foundation

/// A device: its own credentials, keys and network, in a folder of its own.
public final class TestDevice: Sendable {
    public let name: String
    /// The way to the cloud; the test can disturb it.
    public let network = TestNetwork()
    private let cloud: TestCloud
    private let profile: String
    private let profilesFolder: String
    private let address: ServerAddress

    /// The container with which devices sign in; apps name their own.
    private static let signInContainer = "iCloud.com.example.tests"

    init(name: String, cloud: TestCloud) {
        let running = cloud.running
        self.name = name
        self.cloud = cloud
        profilesFolder = running.profilesFolder
        address = running.holdings.address
        profile = UUID().uuidString
    }

    /// A container as an app on this device sees it.
    public func container(_ identifier: String) async throws -> CKContainer {
        CKContainer(
            identifier: identifier, configuration: try await configuration(for: identifier), transport: transport,
            timekeeping: cloud.clock.timekeeping)
    }

    /// Lets `CKContainer.default()` mean this device and container while the body runs, for code that does not take its
    /// container from outside.
    ///
    /// It holds for the body's task and the tasks that it starts; callbacks on other queues see the default as it was.
    public func asDefault<Value>(
        _ identifier: String, _ body: (CKContainer) async throws -> Value
    ) async throws -> Value {
        let container = try await container(identifier)
        return try await CKContainer.$standIn.withValue(container) { try await body(container) }
    }

    /// Variables with which another process, such as a command-line app, is on this device.
    ///
    /// Its network and clock are those of the machine.
    public func environmentVariables(for container: String) async throws -> [String: String] {
        let configuration = try await configuration(for: container)
        var variables = [
            "CLOUDKIT_ENDPOINT": cloud.endpoint, "CLOUDKIT_CONTAINER": container,
            "CLOUDKIT_ENVIRONMENT": configuration.environment, "CLOUDKIT_PROFILE": profile,
        ]
        variables["CLOUDKIT_API_TOKEN"] = configuration.apiToken
        variables["XDG_DATA_HOME"] = cloud.running.holdings.dataHome
        return variables
    }

    /// Signs somebody in; whoever was signed in before is signed out.
    public func signIn(as user: TestUser) async throws {
        let configuration = try await configuration(for: Self.signInContainer)
        _ = try await signIn(configuration).signIn(
            email: user.email, password: user.password, deviceName: name, container: Self.signInContainer)
    }

    /// Signs out, as `welkin logout` does.
    public func signOut() async throws {
        let configuration = try await configuration(for: Self.signInContainer)
        try await signIn(configuration).signOut(container: Self.signInContainer)
    }

    /// Ends the device's session at the cloud, as its owner does for a device that was lost.
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

    private func configuration(for container: String) async throws -> DeviceConfiguration {
        DeviceConfiguration(
            endpoint: cloud.running.devicesEndpoint, container: container,
            apiToken: try await cloud.apiToken(of: container),
            profile: profile, profilesFolder: profilesFolder)
    }
}
