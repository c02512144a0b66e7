import CloudKitAccounts
import CloudKitServer
import Logging

/// The handlers of a cloud's endpoints.
struct CloudEndpoints: Sendable {
    let cloud: Cloud
    let answers: AnswerBudget
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

    /// - Parameter rounds: The fewest rounds of a new password's derivation.
    init(
        cloud: Cloud, authenticator: Authenticator, courier: LongPollService,
        configuration: CloudConfiguration, rounds: Int, pushServices: [any PushService], metrics: RequestMetrics,
        bodyReader: BodyReader, logger: Logger, storage: StorageMonitor?
    ) {
        let isSignUpOpen = configuration.isSignUpOpen
        self.cloud = cloud
        isStrict = configuration.isStrictWebServices
        answers = AnswerBudget(
            bytesMax: configuration.answersBytesMax, sleep: cloud.serverEnvironment.sleep)
        self.authenticator = authenticator
        self.metrics = metrics
        self.bodyReader = bodyReader
        let operatorNames = OperatorNames(names: configuration.operatorNames)
        operatorHosts = OperatorHosts(names: operatorNames)
        let files = OpenFileLimiter(filesMax: configuration.connections.filesMax)
        devices = DeviceEndpoints(
            cloud: cloud, authenticator: authenticator, isSignUpOpen: isSignUpOpen, rounds: rounds)
        uploads = AssetUploadEndpoint(cloud: cloud, files: files, metrics: metrics)
        downloads = AssetDownloadEndpoint(cloud: cloud, files: files, metrics: metrics)
        pushTokens = PushTokenEndpoints(cloud: cloud, services: pushServices)
        self.courier = CourierEndpoint(courier: courier)
        operators = OperatorEndpoints(cloud: cloud, authenticator: authenticator, logger: logger)
        operatorTokens = cloud.accountStore.operatorTokens
        pages = PageEndpoints(authenticator: authenticator, isSignUpOpen: isSignUpOpen, rounds: rounds)
        health = HealthCheck(accounts: cloud.accountStore, cloud: cloud, operatorNames: operatorNames, storage: storage)
    }
}
