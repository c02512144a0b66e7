import CloudKitAccounts
import CloudKitServer
import Logging

/// The handlers of a cloud's endpoints.
struct CloudEndpoints: Sendable {
    let cloud: Cloud
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

    /// - Parameter rounds: The fewest rounds of a new password's derivation.
    init(
        cloud: Cloud, authenticator: Authenticator, courier: LongPollService,
        configuration: CloudConfiguration, rounds: Int, pushServices: [any PushService], metrics: RequestMetrics,
        logger: Logger
    ) {
        let isSignUpOpen = configuration.isSignUpOpen
        let rate = configuration.minimumTransferRate
        self.cloud = cloud
        self.authenticator = authenticator
        self.metrics = metrics
        devices = DeviceEndpoints(
            cloud: cloud, authenticator: authenticator, isSignUpOpen: isSignUpOpen, rounds: rounds)
        uploads = AssetUploadEndpoint(cloud: cloud, minimumRate: rate, metrics: metrics)
        downloads = AssetDownloadEndpoint(cloud: cloud, minimumRate: rate, metrics: metrics)
        pushTokens = PushTokenEndpoints(cloud: cloud, services: pushServices)
        self.courier = CourierEndpoint(courier: courier)
        operators = OperatorEndpoints(cloud: cloud, authenticator: authenticator, logger: logger)
        operatorTokens = cloud.accountStore.operatorTokens
        pages = PageEndpoints(authenticator: authenticator, isSignUpOpen: isSignUpOpen, rounds: rounds)
        health = HealthCheck(accounts: cloud.accountStore, cloud: cloud)
    }
}
