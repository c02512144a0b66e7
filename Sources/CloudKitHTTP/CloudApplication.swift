import CloudKitServer
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

/// A cloud as an HTTP service. Any number of them can live in one process.
package struct CloudApplication: Sendable {
    package let configuration: CloudConfiguration
    package let metrics: RequestMetrics
    private let responder: CloudResponder
    private let delivery: NotificationService
    private let authenticator: Authenticator
    private let faults: Faults
    private let logger: Logger

    /// - Parameters:
    ///   - cloud: The rules and the store behind them.
    ///   - memoryLifetime: How long what the store says of tokens and sessions is remembered, milliseconds.
    ///   - rounds: Rounds of a password's derivation, told to those who have no account; the fewest for a new password.
    ///   - pushServices: Services of others that ring at devices; each has a name of its own.
    package init(
        cloud: Cloud, configuration: CloudConfiguration, logger: Logger, memoryLifetime: Int64 = 5_000,
        rounds: Int = 600_000, pushServices: [any PushService] = []
    ) {
        self.configuration = configuration
        self.logger = logger
        metrics = RequestMetrics()
        let pace = configuration.transferPace
        let book = Book.accounts(in: cloud.store)
        let authenticator = Authenticator(
            book: book, surroundings: cloud.surroundings, memoryLifetime: memoryLifetime)
        self.authenticator = authenticator
        faults = cloud.faults
        let courier = LongPollService(cloud: cloud, hold: configuration.courierHold) {
            try await authenticator.isCurrent(sessionID: $0)
        }
        var couriers: [any NotificationTransport] = [courier]
        if !pushServices.isEmpty {
            couriers.append(
                PushDeliveryService(cloud: cloud, services: pushServices) {
                    try await authenticator.isCurrent(sessionID: $0)
                })
        }
        delivery = NotificationService(cloud: cloud, couriers: couriers, logger: logger)
        responder = CloudResponder(
            configuration: configuration, authenticator: authenticator, databases: DatabaseEndpoints(cloud: cloud),
            devices: DeviceEndpoints(
                cloud: cloud, authenticator: authenticator, isSignUpOpen: configuration.isSignUpOpen, rounds: rounds),
            users: UserEndpoints(), uploads: AssetUploadEndpoint(cloud: cloud, pace: pace, metrics: metrics),
            downloads: AssetDownloadEndpoint(cloud: cloud, pace: pace),
            tokens: TokenEndpoints(cloud: cloud, services: pushServices),
            courier: CourierEndpoint(courier: courier),
            operators: OperatorEndpoints(cloud: cloud, authenticator: authenticator, logger: logger),
            health: HealthCheck(book: book), metrics: metrics,
            logger: logger)
    }

    /// Forgets what is remembered of accounts, tokens and faults: another process has written to the store.
    package func forget() {
        authenticator.forgetAll()
        faults.forget()
    }

    /// The service that listens, to be run by a service group; it ends requests in flight before it stops.
    ///
    /// - Parameters:
    ///   - makeServer: Wraps the server of plain HTTP/1.1, for TLS.
    ///   - listening: Called once the port is open, with its number.
    package func service(
        wrapping makeServer: (HTTPServerBuilder) throws -> HTTPServerBuilder = { $0 },
        listening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) throws -> some ApplicationProtocol {
        let metrics = metrics
        // The framework's own lines say little that ours do not.
        var serverLogger = logger
        serverLogger.logLevel = max(logger.logLevel, .warning)
        let http1 = HTTPServerBuilder.http1(
            configuration: .init(
                additionalChannelHandlers: [ConnectionCounter(metrics: metrics)], idleTimeout: .seconds(120)))
        return Application(
            responder: responder,
            server: try makeServer(http1),
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port)),
            services: [delivery], onServerRunning: { await listening($0.localAddress?.port ?? 0) },
            logger: serverLogger)
    }
}
