import CloudKitModel
import CloudKitServer
import Foundation

/// Tokens for notifications (web-services.md §12.1).
struct TokenEndpoints {
    var cloud: Cloud

    /// - Parameter baseURL: What the courier's URL begins with.
    func answer(
        _ endpoint: Endpoint, place: Route.Place, body: [UInt8], caller: Caller, sessionID: String?,
        baseURL: String
    ) async throws -> Answer {
        let body = try SmallJSON.decode(TokenBody.self, from: body.isEmpty ? Array("{}".utf8) : body)
        let service = body.apnsEnvironment ?? place.environment.rawValue
        let registration: PushRegistration
        if endpoint == .tokensRegister {
            guard let token = body.apnsToken.flatMap({ Data(base64Encoded: $0) }) else {
                throw RequestFailure(.badRequest, "BadRequestException: missing required field 'apnsToken'")
            }
            registration = try await cloud.registerPushToken(
                Array(token), clientID: body.clientId, service: service, in: place.container, place.environment,
                by: caller, sessionID: sessionID)
        } else {
            registration = try await cloud.createPushToken(
                clientID: body.clientId, service: service, in: place.container, place.environment, by: caller,
                sessionID: sessionID)
        }
        return Answer(
            body: try SmallJSON.encode(
                RegistrationBody(
                    apnsEnvironment: service, apnsToken: Data(registration.token).base64EncodedString(),
                    webcourierURL: baseURL + Route.courierPrefix + registration.courierPath,
                    position: caller.surface == .native ? registration.position : nil)),
            itemsOut: 1)
    }

    private struct TokenBody: Decodable {
        var apnsEnvironment: String?
        var apnsToken: String?
        var clientId: String?
    }

    private struct RegistrationBody: Encodable {
        var apnsEnvironment: String
        var apnsToken: String
        var webcourierURL: String
        /// For our own SDK: what it confirms at first.
        var position: String?
    }
}
