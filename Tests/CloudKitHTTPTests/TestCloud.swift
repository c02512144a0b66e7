import CloudKitAccounts
import CloudKitHTTP
import CloudKitLogs
import CloudKitModel
import CloudKitServer
import CoreMetrics
import FileStore
import Logging
import OrderedStore
import PostgresServer
import ServedApplication
import Synchronization

/// A whole cloud in memory, listening on a port that the system chose.
struct TestCloud: Sendable {
    let client: RawClient
    let accountStore: AccountStore
    let files: any FileStore
    let clock: TestClock
    let log: CapturedLog
    let application: CloudApplication

    static let container = "iCloud.com.example.app"
    static let proof = [UInt8](repeating: 1, count: 32)

    /// Runs a cloud while `body` lasts.
    static func run(
        _ configuration: CloudConfiguration = CloudConfiguration(port: 0), store: any OrderedStore = MemoryStore(),
        rounds: Int = 600_000, cacheLifetime: Int64 = 0, limits: Limits = Limits(),
        filesBytesMax: Int64 = 1 << 40, directURL: @escaping @Sendable (FileID) -> String? = { _ in nil },
        pushServices: [any PushService] = [],
        random: @escaping @Sendable (Int) -> [UInt8] = ServerEnvironment.systemRandom,
        rest: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        metricsBackend: any MetricsFactory = NOOPMetricsHandler.instance,
        connectionTime: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        requestLog: LogBuffer? = nil, storage: StorageMonitor? = nil, mail: (any MailDelivery)? = nil,
        provider: (any SignInProvider)? = nil,
        _ body: @Sendable @escaping (TestCloud) async throws -> Void
    ) async throws {
        let chosen = store is MemoryStore ? try await StoreUnderTest.chosen() : nil
        let store: any OrderedStore = chosen ?? store
        let clock = TestClock()
        let log = CapturedLog()
        let serverEnvironment = ServerEnvironment(
            secret: [UInt8](repeating: 7, count: 32), now: { clock.now }, random: random, sleep: rest)
        let files = MemoryFileStore(bytesMax: filesBytesMax, directURL: directURL, now: { clock.now })
        var limits = limits
        limits.freeBytesMin = 0
        let application = CloudApplication(
            cloud: Cloud(
                store: store, files: files, serverEnvironment: serverEnvironment, limits: limits,
                requiresProvedAddresses: mail != nil && configuration.publicURL != nil),
            configuration: configuration,
            logger: Logger(label: "test") { _ in log.handler }, cacheLifetime: cacheLifetime, rounds: rounds,
            pushServices: pushServices, log: requestLog, storage: storage, mail: mail, provider: provider,
            metricsBackend: metricsBackend,
            connectionTime: connectionTime)
        let outcome: Result<Void, any Error>
        do {
            try await application.serve { port in
                try await body(
                    TestCloud(
                        client: RawClient(port: port), accountStore: AccountStore(store, serverEnvironment),
                        files: files,
                        clock: clock, log: log, application: application))
            }
            outcome = .success(())
        } catch { outcome = .failure(error) }
        await chosen?.close()
        try outcome.get()
    }

    /// The request target of an endpoint.
    static func target(
        _ endpoint: String, _ database: String = "private", _ tokens: Tokens? = nil,
        environment: String = "development",
        container: String = container
    ) -> String {
        "/database/1/\(container)/\(environment)/\(database)/\(endpoint)\(tokens?.query ?? "")"
    }

    struct Tokens: Sendable {
        var api: String
        var web: String?

        var query: String { "?ckAPIToken=\(api)" + (web.map { "&ckWebAuthToken=\($0)" } ?? "") }
    }

    func apiToken(origins: [String] = [], callback: String? = nil) async throws -> Tokens {
        let made = try await accountStore.apiTokens.create(
            container: ContainerID(Self.container), environment: .development, name: "", allowedOrigins: origins,
            callback: callback)
        return Tokens(api: made.token)
    }

    func operatorToken(name: String = "tests") async throws -> String {
        try await accountStore.operatorTokens.create(name: name).token
    }

    /// Registers a server-to-server key.
    ///
    /// - Parameter publicKey: PEM.
    /// - Returns: The key's id.
    func serverKey(_ publicKey: String) async throws -> String {
        try await accountStore.serverKeys.add(
            publicKey: publicKey, container: ContainerID(Self.container), environment: .development, name: "tests"
        ).id
    }

    /// Makes an account and signs it in over HTTP.
    func signIn(email: String = "ada@example.com", lifetime: String = "device") async throws -> Tokens {
        let accounts = accountStore.accounts
        if try await accounts.account(email: email) == nil {
            _ = try await accounts.add(
                email: email, name: "", proof: Self.proof, derivation: accounts.newDerivation(rounds: 1))
        }
        var tokens = try await apiToken()
        let answer = try await client.post(
            Self.sessions("create", tokens),
            #"{"email":"\#(email)","proof":"\#(Self.proofText)","deviceName":"Test","lifetime":"\#(lifetime)"}"#)
        tokens.web = answer["ckWebAuthToken"] as? String
        return tokens
    }

    static func sessions(_ action: String, _ tokens: Tokens) -> String { device("sessions/" + action, tokens) }

    static func device(_ action: String, _ tokens: Tokens) -> String {
        "/device/1/\(container)/development/\(action)?ckAPIToken=\(tokens.api)"
    }

    /// Base 64 of `proof`.
    static let proofText = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
}

/// Stands still until it is moved.
final class TestClock: Sendable {
    private let time = Atomic<Int64>(1_700_000_000_000)

    var now: Int64 { time.load(ordering: .relaxed) }

    func advance(_ milliseconds: Int64) { time.add(milliseconds, ordering: .relaxed) }
}

/// Stores log lines.
final class CapturedLog: Sendable {
    private let captured = Mutex<[(message: String, metadata: [String: String])]>([])

    var lines: [(message: String, metadata: [String: String])] { captured.withLock { $0 } }

    var handler: any LogHandler { Handler(log: self) }

    private struct Handler: LogHandler {
        var log: CapturedLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let values = metadata.merging(event.metadata ?? [:]) { $1 }.mapValues(\.description)
            log.captured.withLock { $0.append((event.message.description, values)) }
        }
    }
}
