import ArgumentParser
import CloudKitDevice
import CloudKitHTTP
import CloudKitLogs
import CloudKitServer
import Console
import HTTPTransfer
import Logging
import NIOCore
import ServiceLifecycle

/// Runs a cloud until a signal stops it.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run a cloud.",
        discussion: """
            Creates a cloud if the data folder holds none; the parent folder has to exist.
            Ctrl-C or SIGTERM stops the cloud after the requests in flight.
            """)

    @OptionGroup var folder: DataOptions
    /// Read by `ServeSettings` before the arguments are parsed.
    @Option(
        help: ArgumentHelp(
            "A file of settings; `welkin config example` prints one. [env: WELKIN_CONFIG]", valueName: "file"))
    var config: String?
    @Option(help: "The address to listen on; 0.0.0.0 for all addresses of this machine.")
    var host: String = "127.0.0.1"
    @Option(help: "The port to listen on; 0 lets the system choose.")
    var port: Int = 8080
    @Option(
        help: ArgumentHelp(
            "The address at which clients reach this cloud, if it differs from the listening address.", valueName: "url"
        ))
    var publicURL: String?
    @Option(name: .customLong("tls-certificate"), help: ArgumentHelp("Certificate chain, PEM.", valueName: "file"))
    var tlsCertificate: String?
    @Option(name: .customLong("tls-key"), help: ArgumentHelp("The certificate's private key, PEM.", valueName: "file"))
    var tlsKey: String?
    @Flag(help: "Trust X-Forwarded-For and X-Forwarded-Proto; only behind a proxy of yours that sets both.")
    var behindProxy = false
    @Flag(
        help:
            "Refuse everything that documented CloudKit Web Services do not have; devices of users cannot sign in then."
    )
    var strictWebServices = false
    @Option(
        name: .customLong("operator-host"),
        help: ArgumentHelp(
            "A host name under which /metrics and the admin API answer, besides 127.0.0.1, ::1, localhost and those of --host and --public-url; may be repeated.",
            valueName: "name"))
    var operatorHosts: [String] = []
    @OptionGroup var connections: ConnectionOptions
    @OptionGroup var memory: MemoryOptions
    @Option(help: "Whether users may create accounts themselves: open, or closed: only with an invitation.")
    var signUp: SignUpMode = .open
    @Option(help: "trace, debug, info, notice, warning, error or critical.", transform: Self.logLevel)
    var logLevel: Logger.Level = .info
    @Option(help: "text or json.")
    var logFormat: LogFormat = .text
    @Flag(help: "Serve a folder that is a copy of an earlier state of the cloud: a new epoch begins.")
    var adoptCopy = false
    @Option(
        help: ArgumentHelp(
            "Seconds for which a cloud that was told to stop goes on serving while /health answers 503, so that proxies send requests to other nodes; 0 to 300.",
            valueName: "seconds"))
    var drain: Int = 0
    @Flag(help: "On the first start, create an account and an API token for development; stored in development.json.")
    var developmentDefaults = false

    @OptionGroup var webPush: WebPushOptions

    @OptionGroup(title: "Log of requests") var logs: LogOptions

    @OptionGroup(title: "Alerts") var alerts: AlertOptions

    @OptionGroup(title: "Mail") var mail: MailOptions

    @OptionGroup(title: "Provider of identities") var provider: ProviderOptions

    @OptionGroup(title: "Backups") var backups: ScheduledBackupOptions

    @OptionGroup(title: "Limits") var limits: LimitOptions

    @Option(
        help: ArgumentHelp(
            "Days for which deletions are kept; a device that was offline for longer fetches everything again. 0: permanently.",
            valueName: "days"))
    var keepDeletions: Int = 30

    @Option(
        help: ArgumentHelp(
            "Days between a person's wish that their account is deleted and the deletion; signing in takes it back until then.",
            valueName: "days"))
    var accountDeletionDays: Int = 30

    private static let shutdownMax = Duration.seconds(10)

    /// Whether addresses of accounts are proved by mailed links. Links need an address that no request can choose, and their page.
    private var provesAddresses: Bool { mail.smtpURL != nil && publicURL != nil && !strictWebServices }

    func validate() throws {
        guard (0...65535).contains(port) else { throw ValidationError("--port is 0 to 65535.") }
        guard (tlsCertificate == nil) == (tlsKey == nil) else {
            throw ValidationError("--tls-certificate and --tls-key go together.")
        }
        try connections.validate()
        try memory.validate()
        try limits.validate()
        try logs.validate()
        try alerts.validate()
        try mail.validate()
        try provider.validate()
        guard provider.issuer == nil || (publicURL != nil && !strictWebServices) else {
            throw ValidationError("--oidc-issuer needs --public-url, and is not for --strict-web-services.")
        }
        try backups.validate()
        guard (0...300).contains(drain) else { throw ValidationError("--drain is 0 to 300 seconds.") }
        guard (0...36_500).contains(keepDeletions) else {
            throw ValidationError("--keep-deletions is 0 to 36500 days.")
        }
        guard (0...3650).contains(accountDeletionDays) else {
            throw ValidationError("--account-deletion-days is 0 to 3650.")
        }
        #if !TLS
            guard tlsCertificate == nil else {
                throw ValidationError(
                    "This welkin was built without TLS. Build it with: "
                        + "swift build -c release --traits TLS --product welkin")
            }
        #endif
        if let publicURL, !publicURL.hasPrefix("http://"), !publicURL.hasPrefix("https://") {
            throw ValidationError("--public-url begins with http:// or https://.")
        }
    }

    func run() async throws {
        if backups.backup != nil { try folder.requireStoreInFolder(for: "--backup") }
        let connectionLimits = try connections.limits(descriptors: OpenFiles.raiseLimit())
        FreedMemory.raiseTrimThreshold()
        // Operations and the store have threads of their own; an event loop per core would compete with them.
        NIOSingletons.groupLoopCountSuggestion = max(1, System.coreCount / 2)
        let logger = makeLogger()
        let tls = try TLSFiles(certificate: tlsCertificate, key: tlsKey, logger: logger)
        try await DataFolder.with(folder, serves: true, adoptsCopy: adoptCopy) { folder in
            defer { withExtendedLifetime(folder.claim) {} }
            try await folder.noteServed()
            // Checks the content, because an earlier start may have created the store and failed before it announced it.
            let isNew = try await folder.accountStore.isEmpty()
            var configuration = CloudConfiguration(
                host: host, port: port, publicURL: publicURL.map(Self.withoutSlash), usesTLS: tls != nil,
                isBehindProxy: behindProxy, isStrictWebServices: strictWebServices, operatorHosts: operatorHosts,
                connections: connectionLimits,
                isSignUpOpen: signUp == .open,
                accountDeletionGrace: .seconds(accountDeletionDays * 86_400))
            memory.apply(to: &configuration)
            let mailServer = try mail.mailServer()
            let identityProvider = try provider.provider(now: DataFolder.now)
            let cloud = folder.cloud(limits: limits.limits, requiresProvedAddresses: provesAddresses)
            try await Self.compareClocks(cloud)
            let log = logs.days > 0 ? folder.openLog(logger) : nil
            let logBuffer = LogBuffer()
            let storage = StorageMonitor()
            let application = CloudApplication(
                cloud: cloud, configuration: configuration, logger: logger,
                cacheLifetime: cloud.nodes.isShared ? 1_000 : 5_000,
                pushServices: try webPush.services(in: folder, publicURL: configuration.publicURL),
                log: logBuffer, storage: storage,
                mail: mailServer.map { SMTPDelivery(client: MailClient($0), now: DataFolder.now) },
                provider: identityProvider,
                sites: [
                    Console(logs: log.map { ConsoleLogs(store: $0, alerts: AlertFile(folder: folder.path)) })
                ], limitsFetches: true)
            let store = folder.store
            application.metrics.countCommits { store.hintCount }
            let service = try application.service(wrapping: { try tls?.wrap($0) ?? $0 }) { port in
                await printStartup(port: port, folder: folder, isNew: isNew)
            }
            var services = ServiceGroupConfiguration(
                services: [
                    // Leases are given back when the work has ended.
                    .init(service: NodeService(nodes: cloud.nodes, logger: logger)),
                    .init(service: StoreReporter(cloud: cloud, metrics: application.metrics, logger: logger)),
                    .init(service: StartSample(cloud: cloud, store: folder.store, logger: logger)),
                    .init(service: ServedMarks(store: folder.store, folder: folder.path, logger: logger)),
                    .init(service: ForeignCommits(store: folder.store, application: application, logger: logger)),
                    .init(service: IdleMemory(store: folder.store, log: log)),
                    .init(service: OutboxWorker(cloud: cloud, store: folder.store, logger: logger)),
                    .init(
                        service: AccountDeletionWorker(
                            cloud: cloud, application: application, log: logBuffer, logger: logger)),
                    .init(service: AssetSweeper(cloud: cloud, metrics: application.metrics, logger: logger)),
                    .init(service: service),
                    .init(service: DrainService(application: application, duration: .seconds(drain))),
                ], gracefulShutdownSignals: [.sigterm, .sigint], logger: Self.quiet(logger))
            let schedule = try backups.schedule(
                of: CloudMoments(folder: folder.path), log: logBuffer, now: cloud.serverEnvironment.now)
            let sampler = StorageSampler(
                folder: folder.path, cloud: cloud, monitor: storage, metrics: application.metrics,
                backups: schedule?.monitor, log: log, logger: logger)
            if let schedule {
                let metrics = application.metrics
                let service: any Service =
                    schedule.isContinuous
                    ? ContinuousBackupService(schedule: schedule, metrics: metrics, logger: logger)
                    : BackupService(schedule: schedule, metrics: metrics, logger: logger)
                services.services.insert(.init(service: service), at: 0)
            }
            // Health is known before the first request.
            await sampler.sample(isKept: true)
            services.services.insert(.init(service: sampler), at: 0)
            let now = cloud.serverEnvironment.now
            let writing = LogWriting(
                buffer: logBuffer, store: log, format: logFormat, retention: logs.retention, now: now,
                metrics: application.metrics, logger: logger)
            if let log {
                let sender = AlertSender(
                    client: HTTPClient(), mail: mailServer.map { MailClient($0) },
                    namedHosts: Set(alerts.namedHosts.map { $0.lowercased() }), logger: logger)
                let watch = AlertService(
                    file: AlertFile(folder: folder.path), log: log, monitor: storage, sender: sender, now: now,
                    logger: logger)
                services.services.insert(.init(service: watch), at: 0)
            }
            if keepDeletions > 0 {
                let worker = CompactionWorker(cloud: cloud, days: keepDeletions, logger: logger)
                services.services.insert(.init(service: worker), at: 0)
            }
            // The log is written until all other services have stopped.
            services.services.insert(.init(service: writing), at: 0)
            // An unfinished request does not keep the cloud from stopping.
            services.maximumGracefulShutdownDuration = Self.shutdownMax + .seconds(drain)
            do {
                try await ServiceGroup(configuration: services).run()
            } catch is CancellationError {
                logger.warning("stopped with requests unfinished")
            } catch  where String(describing: error).contains("errno: 98") {
                throw PortTakenError(host: host, port: port)
            }
        }
    }

    /// Refuses to become a node whose clock is far from those of the others.
    private static func compareClocks(_ cloud: Cloud) async throws {
        guard cloud.nodes.isShared else { return }
        let difference = try await ClockCheck(store: cloud.store, serverEnvironment: cloud.serverEnvironment)
            .difference()
        guard ClockCheck.Verdict(difference: difference) >= .tooFar else { return }
        let seconds = difference.magnitude / 1000
        throw CommandFailure(
            "the clock of this machine is \(seconds) seconds \(difference < 0 ? "ahead of" : "behind") the clock of another "
                + "node of the cloud. Set both by NTP (timedatectl set-ntp true), then start again; nothing was changed."
        )
    }

    @Sendable private static func logLevel(_ word: String) throws -> Logger.Level {
        guard let level = Logger.Level(rawValue: word) else {
            throw ValidationError("\"\(word)\" is not a log level.")
        }
        return level
    }

    private func makeLogger() -> Logger {
        Logger(label: "welkin") { LineLogHandler(label: $0, level: logLevel, format: logFormat) }
    }

    private static func quiet(_ logger: Logger) -> Logger {
        var logger = logger
        logger.logLevel = max(logger.logLevel, .warning)
        return logger
    }

    private static func withoutSlash(_ url: String) -> String {
        url.hasSuffix("/") ? String(url.dropLast()) : url
    }

    /// Prints the address, the state of the cloud and the next step.
    ///
    /// - Parameter isNew: Whether the cloud was empty when it started.
    private func printStartup(port: Int, folder: DataFolder, isNew: Bool) async {
        let address = host.contains(":") ? "[\(host)]" : host
        let endpoint = "\(tlsCertificate == nil ? "http" : "https")://\(address):\(port)"
        Output.result("listening on \(endpoint)")
        Output.result(isNew ? "a new, empty cloud; data in \(folder.path)" : "data in \(folder.path)")
        Output.result(signUp.announcement)
        if mail.smtpURL != nil {
            Output.result(
                provesAddresses
                    ? "mail: addresses are proved by mailed links; people share by proved addresses alone"
                    : "mail: for alerts and invitations alone; links that prove addresses need --public-url")
        }
        if let issuer = provider.issuer { Output.result("people sign in at \(issuer), too") }
        Output.result(webPush.mode.announcement)
        guard developmentDefaults else {
            return Output.result(
                """
                Next: create an account with `welkin account add EMAIL` and an API token with
                `welkin token create iCloud.com.example.app`, then sign in a device with `welkin login`.
                """)
        }
        do {
            let file = try await DevelopmentDefaults(folder: folder, endpoint: endpoint).file()
            Output.result("Next: apps and `welkin login` take their settings from CLOUDKIT_CONFIGURATION=\(file)")
        } catch {
            Output.remark("The development defaults could not be created: \(error)")
        }
    }
}

/// The setting that allows users to create accounts.
enum SignUpMode: String, ExpressibleByArgument {
    case open, closed

    var announcement: String {
        switch self {
        case .open:
            "sign-up open: anyone who can reach this cloud may create an account (close it with --sign-up closed)"
        case .closed:
            "sign-up closed: create accounts with `welkin account add EMAIL`, or invite people with `welkin invitation add`"
        }
    }
}

/// The error of a port on which another process listens.
struct PortTakenError: Error, CustomStringConvertible {
    var host: String
    var port: Int

    var description: String {
        "Port \(port) of \(host) is taken. Choose another with --port, or --port 0 to let the system choose."
    }
}

extension LogFormat: ExpressibleByArgument {}
