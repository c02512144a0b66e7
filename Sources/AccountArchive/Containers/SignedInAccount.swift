import CloudKitClient
import CloudKitDevice
import CloudKitModel
import Foundation

/// The account of a signed-in device and its containers.
package struct SignedInAccount: Sendable {
    private let configuration: DeviceConfiguration
    private let transport: any Transport
    private let clock: ClientClock
    private let signIn: SignIn
    private let container: String

    /// Creates the account of a device.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the device, which is signed in.
    ///   - container: A container that the device can open.
    ///   - transport: The way to the cloud.
    ///   - clock: The time.
    package init(
        configuration: DeviceConfiguration, container: String, transport: any Transport = HTTPTransport.shared,
        clock: ClientClock = .system
    ) {
        self.configuration = configuration
        self.container = container
        self.transport = transport
        self.clock = clock
        signIn = SignIn(configuration: configuration, sendingBy: transport)
    }

    /// The address of the cloud.
    package var cloud: String { configuration.endpoint }

    /// The e-mail address of the account.
    ///
    /// - Throws: `SignInError.notSignedIn`, `DeviceProfileError`.
    package func email() throws -> String {
        guard let credentials = try configuration.deviceProfile.credentials() else { throw SignInError.notSignedIn }
        return credentials.email
    }

    /// The time, in milliseconds since 1970.
    package var now: Int64 { clock.milliseconds() }

    /// Returns the containers in which the account has data, by name, development first.
    ///
    /// - Parameter named: Names of further containers, which are in the answer if the cloud has them.
    /// - Throws: `SignInError`, `TransportFailure`.
    package func containers(alsoNamed named: [String] = []) async throws -> [AccountContainer] {
        try await signIn.containers(alsoNamed: named, container: container).sorted {
            ($0.container, $0.environment) < ($1.container, $1.environment)
        }
    }

    /// Returns the connection to a container.
    ///
    /// - Parameter place: The container, as the cloud lists it.
    func connection(to place: AccountContainer) -> ContainerConnection {
        var configuration = configuration
        configuration.apiTokens = [place.container: apiToken(for: place)]
        configuration.apiToken = nil
        configuration.container = place.container
        configuration.environment = place.environment
        return ContainerConnection(
            configuration, identifier: place.container, transport: transport, clientEnvironment: clock,
            accountChanged: {})
    }

    /// Returns the API token of this device's app, whose web token the profile keeps; else the one of the cloud's own pages.
    private func apiToken(for place: AccountContainer) -> String {
        let entry = try? configuration.deviceProfile.credentials(
            at: configuration.endpoint, for: place.container, environment: place.environment)
        if let entry { return entry.apiToken }
        let configured = configuration.apiToken(for: place.container)
        return (place.environment == configuration.environment ? configured : nil) ?? place.apiToken
    }
}

extension ContainerConnection {
    /// Returns the calls of a long run to one of the databases; where the cloud asks to wait, they do.
    func requests(_ scope: DatabaseScope) -> DatabaseRequests {
        let settings = CallSettings(
            operationID: UUID().uuidString, isDiscretionary: true,
            requestTimeout: CallSettings.requestTimeoutDefault, resourceTimeout: CallSettings.resourceTimeoutDefault,
            allowsCellularAccess: true)
        return DatabaseRequests(connection: self, scope: scope, settings: settings)
    }
}
