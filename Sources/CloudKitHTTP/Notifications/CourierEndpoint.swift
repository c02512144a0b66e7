import CloudKitModel
import CloudKitServer
import CloudKitWire
import ServiceLifecycle

/// The long poll for notifications (docs/web-services.md §12.2).
///
/// A web client gets one payload a response, and an empty body when its time is over. Our own SDK gets all that wait,
/// `{"notifications": […], "position": "…"}`, and confirms them with `confirmed=POSITION` in the next request's query.
struct CourierEndpoint {
    var courier: LongPollService

    /// The beginning of the path in a courier's URL.
    static let pathPrefix = "/courier/"

    func poll(_ request: IncomingRequest) async throws -> EndpointResponse {
        let path = request.endpoint?.parameter ?? ""
        let confirmed = request.query.confirmed
        let isNative = request.surface == .native
        let isConnected = request.isConnected
        // A server that stops waits for its requests: those that wait for notifications end at once.
        return try await withGracefulShutdownHandler {
            guard isNative else {
                let delivery = try await courier.next(path, confirmed: nil, max: 1, isConnected: isConnected)
                return EndpointResponse(body: delivery.payloads.first ?? [], itemsOut: delivery.payloads.count)
            }
            // Without a confirmation the device's stored position counts, as for a web client.
            let delivery = try await courier.next(
                path, confirmed: confirmed, max: Self.payloadsMax, isConnected: isConnected)
            return EndpointResponse(
                body: LongPollAnswer(payloads: delivery.payloads, position: delivery.position).wire(),
                itemsOut: delivery.payloads.count)
        } onGracefulShutdown: {
            courier.close()
        }
    }

    private static let payloadsMax = 100
}
