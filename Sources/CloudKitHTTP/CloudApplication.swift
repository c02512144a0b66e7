import CloudKitAccounts
import CloudKitLogs
import CloudKitServer
import CoreMetrics
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// A cloud as an HTTP service. A process can have any number of them.
package struct CloudApplication: Sendable {
    /// The settings of the HTTP server.
    package let configuration: CloudConfiguration
    /// The cloud's metrics, to which other services of the process add.
    package let metrics: RequestMetrics
    private let responder: CloudResponder
    private let limiter: ChannelLimiter
    private let delivery: NotificationService
    private let authenticator: Authenticator
    private let faults: Faults
    private let accountQuotas: AccountQuotas
    private let courier: LongPollService
    private let draining: Draining
    private let logger: Logger

    /// Creates the service of a cloud.
    ///
    /// - Parameters:
    ///   - cloud: The rules and the store behind them.
    ///   - cacheLifetime: Milliseconds for which tokens and sessions are remembered as the store has them.
    ///   - rounds: Rounds of a password's derivation, given to clients without an account; the fewest for a new password.
    ///   - pushServices: Push services of others; each has a name of its own.
    ///   - log: Takes a report of every request and of what happens without one. Its owner writes the entries, and the lines of
    ///     requests. nil: the lines are written at once, and there are no entries.
    ///   - storage: The state of the disk, for `/health`; nil where nothing can be said.
    ///   - mail: Sends mail to people, where the cloud has a public URL for links; nil: none is sent.
    ///   - provider: Vouches for people who sign in, where the cloud has a public URL; nil: none does.
    ///   - sites: Pages of other modules, each with a path of its own.
    ///   - metricsBackend: Receives every metric in addition to `/metrics`; by default the backend of the process.
    ///   - connectionTime: The clock by which connections are too slow.
    ///   - limitsFetches: Whether many fetches of records wait for saves.
    package init(
        cloud: Cloud, configuration: CloudConfiguration, logger: Logger, cacheLifetime: Int64 = 5_000,
        rounds: Int = 600_000, pushServices: [any PushService] = [],
        log: LogBuffer? = nil, storage: StorageMonitor? = nil, mail: (any MailDelivery)? = nil,
        provider: (any SignInProvider)? = nil, sites: [any MountedSite] = [],
        metricsBackend: any MetricsFactory = MetricsSystem.factory,
        connectionTime: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        limitsFetches: Bool = false
    ) {
        self.configuration = configuration
        self.logger = logger
        let metrics = RequestMetrics(backend: metricsBackend)
        self.metrics = metrics
        let refused = RefusedConnections(metrics: metrics, logger: logger)
        limiter = ChannelLimiter(
            limits: configuration.connections, rate: configuration.minimumTransferRate,
            isBehindProxy: configuration.isBehindProxy, now: connectionTime
        ) { refused.record($0) }
        let bodyReader = BodyReader(
            limits: configuration.bodies,
            budget: BodyBudget(limits: configuration.bodies) { metrics.bodyBytesHeld(change: $0) })
        let authenticator = Authenticator(store: cloud.accountStore, cacheLifetime: cacheLifetime)
        self.authenticator = authenticator
        faults = cloud.faults
        accountQuotas = cloud.accountQuotas
        let draining = Draining()
        self.draining = draining
        let courier = LongPollService(cloud: cloud, hold: configuration.longPollHold) {
            try await authenticator.isCurrent(sessionID: $0)
        }
        self.courier = courier
        var transports: [any NotificationTransport] = [courier]
        if !pushServices.isEmpty {
            transports.append(
                PushDeliveryService(cloud: cloud, services: pushServices) {
                    try await authenticator.isCurrent(sessionID: $0)
                })
        }
        delivery = NotificationService(
            cloud: cloud, transports: transports, metrics: metrics.notifications, logger: logger, log: log)
        let proofLimiter = ProofLimiter(roundsMin: rounds)
        let endpoints = CloudEndpoints(
            cloud: cloud, authenticator: authenticator, courier: courier, configuration: configuration,
            rounds: rounds, proofLimiter: proofLimiter, pushServices: pushServices, metrics: metrics,
            bodyReader: bodyReader,
            fetches: FetchLimiter(
                threads: limitsFetches ? LowPriorityThreads(count: max(1, System.coreCount / 2)) : nil,
                now: connectionTime,
                sleep: cloud.serverEnvironment.sleep, onRefused: { metrics.fetchRefused() }),
            logger: logger, storage: storage, draining: draining, mail: mail,
            provider: provider)
        var table = EndpointTable(endpoints)
        if !sites.isEmpty {
            table.addSites(
                sites,
                endpoints.siteServices(
                    configuration: configuration, proofLimiter: proofLimiter, logger: logger, log: log))
        }
        let routing = Routing(
            table: table, checks: configuration.isStrictWebServices ? [StrictWebServices()] : [])
        let steps: [any RequestMiddleware] = [
            RequestReporting(
                metrics: metrics, logger: logger, log: log, now: cloud.serverEnvironment.now,
                pseudonyms: cloud.serverEnvironment.recordPseudonyms),
            FailureResponses(logger: logger), HostCheck(),
        ]
        responder = CloudResponder(
            configuration: configuration, limiter: limiter, bodyReader: bodyReader,
            now: cloud.serverEnvironment.now, draining: draining, handler: steps.around(routing.respond))
    }

    /// Prepares the end: `/health` answers 503, so that proxies send requests elsewhere, waiting requests end, and connections close with
    /// their next response.
    package func drain() {
        draining.begin()
        courier.drain()
    }

    /// Forgets accounts, tokens, faults and quotas that are remembered: another process has written to the store.
    package func forget() {
        authenticator.forgetAll()
        faults.forget()
        accountQuotas.forget()
    }

    /// Returns the response to a request that came over a connection without a socket, as simulations of the whole stack send it.
    package func respond(
        to head: RequestHead, _ body: RequestBody, on channel: any Channel
    ) async throws -> OutgoingResponse {
        var continued: WaitingRequest?
        while true {
            switch try await responder.respond(to: head, body, on: channel, continuing: continued) {
            case .response(let response): return response
            case .waits(let waiting): continued = await waiting.ended()
            }
        }
    }

    /// Delivers notifications until the task is cancelled, as the service does while it listens.
    package func deliverNotifications() async throws { try await delivery.run() }

    /// Returns the service that listens, to be run by a service group; it finishes requests in flight before it stops.
    ///
    /// - Parameters:
    ///   - makeServer: Wraps the server of plain HTTP/1.1, for TLS.
    ///   - listening: Called once the port is open, with its number.
    package func service(
        wrapping makeServer: (HTTPServerBuilder) throws -> HTTPServerBuilder = { $0 },
        listening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) throws -> some Service {
        let metrics = metrics
        // The framework's own lines add little to ours.
        var serverLogger = logger
        serverLogger.logLevel = max(logger.logLevel, .warning)
        let http1 = HTTPServerBuilder { [responder] _ in RequestChannel(responder: responder, metrics: metrics) }
        let server = try makeServer(http1).buildServer(
            configuration: ServerConfiguration(
                address: .hostname(configuration.host, port: configuration.port)),
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: serverLogger,
            // The channel has its own way to the responder.
            responder: { _, _, _ in },
            onServerRunning: { [limiter, logger] server in
                do {
                    try await AcceptHandler.limit(server, by: limiter)
                } catch {
                    // The server is stopping already.
                    logger.warning(
                        "connections are not limited", metadata: ["error": .string(String(describing: error))])
                }
                await listening(server.localAddress?.port ?? 0)
            })
        return ServiceGroup(
            configuration: .init(
                services: [delivery, ListeningService(server: server, courier: courier)], logger: serverLogger))
    }
}

/// The server that listens. When it is to stop, requests that wait for notifications end at once, since it waits for its requests.
private struct ListeningService: Service {
    let server: any Service
    let courier: LongPollService

    func run() async throws {
        try await withGracefulShutdownHandler {
            try await server.run()
        } onGracefulShutdown: {
            courier.close()
        }
    }
}
