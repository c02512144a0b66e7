import CloudKitModel
import CloudKitServer
import CloudKitWire

/// The long poll for notifications (docs/web-services.md §12.2).
///
/// A web client gets one payload a response, and an empty body when its time is over. Our own SDK gets all that wait,
/// `{"notifications": […], "position": "…"}`, and confirms them with `confirmed=POSITION` in the next request's query.
struct CourierEndpoint {
    var courier: LongPollService

    /// The beginning of the path in a courier's URL.
    static let pathPrefix = "/courier/"

    /// - Throws: `PendingNotifications` while there are none; the request is handled again later, with its `poll`.
    func poll(_ request: IncomingRequest) async throws -> EndpointResponse {
        let isNative = request.surface == .native
        var poll =
            try request.poll
            ?? courier.begin(
                // Without a confirmation the device's stored position counts, as for a web client.
                request.endpoint?.parameter ?? "", confirmed: isNative ? request.query.confirmed : nil,
                max: isNative ? Self.payloadsMax : 1)
        guard let delivery = try await courier.read(&poll, isConnected: request.isConnected) else {
            throw PendingNotifications(poll: poll, courier: courier)
        }
        return EndpointResponse(
            body: isNative
                ? LongPollAnswer(payloads: delivery.payloads, position: delivery.position).wire()
                : delivery.payloads.first ?? [],
            itemsOut: delivery.payloads.count)
    }

    private static let payloadsMax = 100
}
