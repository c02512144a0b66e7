import CloudKitDevice
import CloudKitModel
import CloudKitWire

/// The location of a container.
package struct ContainerEndpoint: Hashable, Sendable {
    /// Scheme, host and port, without a slash at the end.
    package var endpoint: String
    /// The identifier of the container.
    package var container: ContainerID
    /// The environment of the container.
    package var environment: CloudKitModel.Environment

    /// Creates the location of a container.
    package init(endpoint: String, container: ContainerID, environment: CloudKitModel.Environment) {
        self.endpoint = endpoint
        self.container = container
        self.environment = environment
    }

    /// Returns the address of one of the container's databases.
    package func address(_ scope: DatabaseScope) -> DatabaseAddress {
        DatabaseAddress(container: container, environment: environment, scope: scope)
    }
}

/// Everything that one call to a container's cloud needs: its place, the account that asks, and the way there.
package struct CloudAccess: Sendable {
    /// The location of the container, or the failure with which every call ends.
    package let place: Result<ContainerEndpoint, CallFailure>
    /// The account that sends the requests.
    package let account: any DeviceAccount
    /// The transport of the requests.
    package let transport: any Transport
    /// The protocol in which the cloud is spoken to.
    package let surface: CloudSurface
    /// The clock and the source of random numbers.
    package let clientEnvironment: ClientClock
    let gate: RetryGate
    /// Whether the cloud has answered.
    let contact = CloudContact()
    /// Follows whether the cloud was restored from a backup.
    let restorations: RestorationFollower

    /// The epoch of the cloud's store and the time of the state with which it began, as the last answer named them, also one to an earlier process;
    /// nil: none did.
    package var storeEpoch: (name: String, restoredTo: Int64)? { restorations.storeEpoch }

    /// Whether the cloud says that it was restored, and the user has not accepted its state.
    package var hasOpenRestoration: Bool { restorations.claimed.isOpen }

    /// Reads a refusal; the wait that the cloud asks for holds for all requests (B-THR-03).
    func refusal(of response: TransportResponse) -> RequestFailure {
        var refusal = WireError(wireAnswer: response.body, status: response.status).failure
        refusal.retryAfter = RetryAfter.seconds(body: refusal.retryAfter, headers: response.headers)
        if let wait = refusal.retryAfter.map({ Duration.seconds($0) }) {
            switch refusal.code {
            case .throttled, .tryAgainLater: gate.close(for: wait, at: clientEnvironment.now())
            // Each call waits for a cloud that is away for a moment.
            case .serverUnavailable where wait > RetryPolicy.awayWaitMax:
                gate.close(for: wait, at: clientEnvironment.now())
            default: break
            }
        }
        return refusal
    }
}
