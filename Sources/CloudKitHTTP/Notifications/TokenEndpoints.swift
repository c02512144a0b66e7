import CloudKitModel
import CloudKitServer
import CloudKitWire
import Foundation

/// Tokens for notifications (web-services.md §12.1), and which services of others may ring at a device (docs/web-push.md).
///
/// - `tokens/services` → `{"services": [{"service": "webPush", "applicationServerKey": "…"}]}`: what is switched on here.
/// - `tokens/create`, `tokens/register` with `"push": {"service": …, "subscription": {…}, "silent": false}`: the service sends what
///   the device would else ask for; there is no `webcourierURL` then.
/// - `tokens/delete {"apnsToken"}` → `{}`.
struct TokenEndpoints {
    var cloud: Cloud
    var services: [any PushService]

    /// - Parameter baseURL: What the courier's URL begins with.
    func answer(
        _ endpoint: Endpoint, place: Route.Place, body: [UInt8], caller: Caller, sessionID: String?,
        baseURL: String
    ) async throws -> Answer {
        if endpoint == .tokensServices { return try listServices() }
        let request = try PushTokenRequest(wireBody: body)
        let service = request.service ?? place.environment.rawValue
        let registration: PushRegistration
        switch endpoint {
        case .tokensDelete:
            try await PushTokens(cloud).remove(
                try token(of: request), in: place.container, place.environment, by: caller)
            return Answer(body: Array("{}".utf8), itemsIn: 1)
        case .tokensRegister:
            registration = try await PushTokens(cloud).register(
                try token(of: request), clientID: request.clientID, service: service, in: place.container,
                place.environment, by: caller, sessionID: sessionID, push: try order(request.push))
        default:
            registration = try await PushTokens(cloud).create(
                clientID: request.clientID, service: service, in: place.container, place.environment, by: caller,
                sessionID: sessionID, push: try order(request.push))
        }
        return Answer(
            body: try SmallJSON.encode(
                RegistrationBody(
                    apnsEnvironment: service, apnsToken: Data(registration.token).base64EncodedString(),
                    webcourierURL: registration.courierPath.map { baseURL + Route.courierPrefix + $0 },
                    position: caller.surface == .native ? registration.position : nil)),
            itemsOut: 1)
    }

    private func listServices() throws -> Answer {
        let list = services.map { $0.announcement.merging(["service": $0.name]) { $1 } }
        return Answer(body: try SmallJSON.encode(["services": list]), itemsOut: list.count)
    }

    private func token(of request: PushTokenRequest) throws(RequestFailure) -> [UInt8] {
        guard let token = request.token else {
            throw RequestFailure(.badRequest, "BadRequestException: missing required field 'apnsToken'")
        }
        return token
    }

    private func order(_ push: PushTokenRequest.Push?) throws(RequestFailure) -> PushOrder? {
        guard let push else { return nil }
        guard let service = services.first(where: { $0.name == push.service }) else {
            throw RequestFailure(
                .badRequest, "this cloud does not send by that push service",
                remedy: "tokens/services lists those it does; without any, ask at the webcourierURL.")
        }
        return PushOrder(
            service: service.name, address: try service.address(push.subscription), takesSilent: push.takesSilent)
    }

    private struct RegistrationBody: Encodable {
        var apnsEnvironment: String
        var apnsToken: String
        /// nil where a push service sends.
        var webcourierURL: String?
        /// For our own SDK: what it confirms at first.
        var position: String?
    }
}
