import CloudKitModel
import CloudKitServer
import CloudKitWire
import ServiceLifecycle

/// The long poll of the web courier (web-services.md §12.2).
///
/// A web client gets one payload an answer, and an empty body when its time is over. Our own SDK gets all that wait,
/// `{"notifications": […], "position": "…"}`, and confirms them with `confirmed=POSITION` in the next request's query.
struct CourierEndpoint {
    var courier: LongPollService

    func answer(_ path: Substring, _ exchange: Exchange) async throws -> Answer {
        // A server that stops waits for its requests: those that wait for news end at once.
        try await withGracefulShutdownHandler {
            try await answerAtLast(path, exchange)
        } onGracefulShutdown: {
            courier.close()
        }
    }

    private func answerAtLast(_ path: Substring, _ exchange: Exchange) async throws -> Answer {
        guard exchange.surface == .native else {
            let delivery = try await courier.next(
                path, confirmed: nil, max: 1, isConnected: exchange.isConnected)
            return Answer(body: delivery.payloads.first ?? [], itemsOut: delivery.payloads.count)
        }
        // Without a confirmation the device's stored position counts, as for a web client.
        let delivery = try await courier.next(
            path, confirmed: exchange.query.confirmed, max: Self.payloadsMax, isConnected: exchange.isConnected)
        return Answer(
            body: CourierAnswer(payloads: delivery.payloads, position: delivery.position).wire(),
            itemsOut: delivery.payloads.count)
    }

    private static let payloadsMax = 100
}
