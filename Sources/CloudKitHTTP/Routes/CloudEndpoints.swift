import CloudKitAccounts
import CloudKitLogs
import CloudKitServer
import Logging

/// The handlers of a cloud's endpoints.
struct CloudEndpoints: Sendable {
    let cloud: Cloud
    let answers: AnswerBudget
    let fetches: FetchLimiter
    let authenticator: Authenticator
    let devices: DeviceEndpoints
    let uploads: AssetUploadEndpoint
    let downloads: AssetDownloadEndpoint
    let pushTokens: PushTokenEndpoints
    let courier: CourierEndpoint
    let operators: OperatorEndpoints
    let operatorTokens: OperatorTokens
    let pages: PageEndpoints
    let health: HealthCheck
    let metrics: RequestMetrics
    let bodyReader: BodyReader
    let operatorHosts: OperatorHosts
    /// A Boolean value that indicates whether the additions to web services are refused.
    let isStrict: Bool

    /// - Parameters:
    ///   - rounds: The fewest rounds of a new password's derivation.
    ///   - proofLimiter: The one count of wrong proofs.
    ///   - fetches: Limits fetches of records while saves need the processors.
    ///   - mail: Sends mail to people; nil: none is sent.
    ///   - provider: Vouches for people, where the cloud has a public URL; nil: none does.
    init(
        cloud: Cloud, authenticator: Authenticator, courier: LongPollService,
        configuration: CloudConfiguration, rounds: Int, proofLimiter: ProofLimiter,
        pushServices: [any PushService], metrics: RequestMetrics,
        bodyReader: BodyReader, fetches: FetchLimiter, logger: Logger, storage: StorageMonitor?,
        draining: Draining, mail: (any MailDelivery)?, provider: (any SignInProvider)?
    ) {
        let isSignUpOpen = configuration.isSignUpOpen
        self.cloud = cloud
        isStrict = configuration.isStrictWebServices
        answers = AnswerBudget(
            bytesMax: configuration.answersBytesMax, sleep: cloud.serverEnvironment.sleep)
        self.fetches = fetches
        self.authenticator = authenticator
        self.metrics = metrics
        self.bodyReader = bodyReader
        // A cloud that is strict does not have the page that links lead to.
        let publicURL = configuration.isStrictWebServices ? nil : configuration.publicURL
        let operatorNames = OperatorNames(names: configuration.operatorNames)
        operatorHosts = OperatorHosts(names: operatorNames)
        let files = OpenFileLimiter(filesMax: configuration.connections.filesMax)
        let providerSignIn = provider.flatMap { provider in
            publicURL.map { url in
                ProviderSignIn(
                    store: cloud.accountStore, provider: provider, publicURL: url, proofLimiter: proofLimiter
                ) { logger.warning("a sign-in at the provider failed", metadata: ["reason": .string($0)]) }
            }
        }
        devices = DeviceEndpoints(
            cloud: cloud, authenticator: authenticator, isSignUpOpen: isSignUpOpen, rounds: rounds,
            deletionGrace: configuration.accountDeletionGrace, proofLimiter: proofLimiter,
            mail: mail.flatMap { delivery in
                publicURL.map {
                    AddressMail(
                        delivery: delivery, publicURL: $0, proofs: cloud.accountStore.addressProofs, logger: logger)
                }
            }, provider: providerSignIn)
        uploads = AssetUploadEndpoint(cloud: cloud, files: files, metrics: metrics)
        downloads = AssetDownloadEndpoint(cloud: cloud, files: files, metrics: metrics)
        pushTokens = PushTokenEndpoints(cloud: cloud, services: pushServices)
        self.courier = CourierEndpoint(courier: courier)
        operators = OperatorEndpoints(cloud: cloud, authenticator: authenticator, logger: logger)
        operatorTokens = cloud.accountStore.operatorTokens
        pages = PageEndpoints(
            authenticator: authenticator, isSignUpOpen: isSignUpOpen, rounds: rounds,
            pageTokens: PageTokens(cloud.serverEnvironment), isStrict: configuration.isStrictWebServices,
            provider: providerSignIn?.label)
        health = HealthCheck(
            probe: StoreProbe(
                sleep: { try await Task.sleep(for: $0) },
                ask: { [accounts = cloud.accountStore] in try await accounts.checkIsReadable() }),
            cloud: cloud, operatorNames: operatorNames, storage: storage,
            draining: draining)
    }

    /// Returns what sites work with.
    func siteServices(
        configuration: CloudConfiguration, proofLimiter: ProofLimiter, logger: Logger, log: LogBuffer?
    ) -> SiteServices {
        SiteServices(
            cloud: cloud, authenticator: authenticator, configuration: configuration, metrics: metrics,
            logger: logger, log: log, proofLimiter: proofLimiter, bodyReader: bodyReader,
            operatorNames: operatorHosts.names, downloads: downloads)
    }
}
