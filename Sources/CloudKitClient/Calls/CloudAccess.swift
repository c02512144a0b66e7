import CloudKitDevice
import CloudKitModel
import CloudKitWire

/// The location of a container.
package struct ContainerEndpoint: Hashable, Sendable {
    /// Scheme, host and port, without a slash at the end.
    package var endpoint: String
    package var container: ContainerID
    package var environment: CloudKitModel.Environment

    package init(endpoint: String, container: ContainerID, environment: CloudKitModel.Environment) {
        self.endpoint = endpoint
        self.container = container
        self.environment = environment
    }

    package func address(_ scope: DatabaseScope) -> DatabaseAddress {
        DatabaseAddress(container: container, environment: environment, scope: scope)
    }
}

/// Everything that one call to a container's cloud needs: its place, the account that asks, and the way there.
package struct CloudAccess: Sendable {
    package let place: Result<ContainerEndpoint, CallFailure>
    package let account: any DeviceAccount
    package let transport: any Transport
    package let clientEnvironment: ClientClock
    let gate: RetryGate

    /// Reads a refusal; the wait that the cloud asks for holds for all requests (B-THR-03).
    func refusal(of response: TransportResponse) -> RequestFailure {
        var refusal = WireError(wireAnswer: response.body, status: response.status).failure
        refusal.retryAfter = RetryAfter.seconds(body: refusal.retryAfter, headers: response.headers)
        if refusal.code == .throttled || refusal.code == .tryAgainLater, let wait = refusal.retryAfter {
            gate.close(for: .seconds(wait), at: clientEnvironment.now())
        }
        return refusal
    }
}
