import CloudKitModel

/// Refuses server keys outside of the public database.
struct ServerKeyLimit: RequestCheck {
    func check(_ request: IncomingRequest) throws {
        guard request.admission?.isServerKey != true || request.endpoint?.scope == .public else {
            throw RequestFailure(.authenticationFailed, "a server-to-server key reaches the public database only")
        }
    }
}
