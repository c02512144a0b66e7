import CloudKitModel
import CloudKitServer
import CloudKitWire
import Foundation

/// The endpoints for push tokens (docs/web-services.md §12.1) and for push services of others (docs/web-push.md).
///
/// - `tokens/services` → `{"services": [{"service": "webPush", "applicationServerKey": "…"}]}`: the services that are switched on.
/// - `tokens/create`, `tokens/register` with `"push": {"service": …, "subscription": {…}, "silent": false}`: the service sends the
///   notifications that the device would otherwise ask for; there is no `webcourierURL` then.
/// - `tokens/delete {"apnsToken"}` → `{}`.
struct PushTokenEndpoints {
    var cloud: Cloud
    var services: [any PushService]

    func create(_ request: IncomingRequest) async throws -> EndpointResponse {
        let call = try PushTokenCall(request)
        let body = try PushTokenRequest(wireBody: call.body)
        let service = body.service ?? call.place.environment.rawValue
        let registration = try await PushTokens(cloud).create(
            clientID: body.clientID, service: service, in: call.place.container, call.place.environment,
            by: call.caller, sessionID: call.sessionID, push: try order(body.push))
        return try response(registration, service: service, to: call)
    }

    func register(_ request: IncomingRequest) async throws -> EndpointResponse {
        let call = try PushTokenCall(request)
        let body = try PushTokenRequest(wireBody: call.body)
        let service = body.service ?? call.place.environment.rawValue
        let registration = try await PushTokens(cloud).register(
            try token(of: body), clientID: body.clientID, service: service, in: call.place.container,
            call.place.environment, by: call.caller, sessionID: call.sessionID, push: try order(body.push))
        return try response(registration, service: service, to: call)
    }

    func delete(_ request: IncomingRequest) async throws -> EndpointResponse {
        let call = try PushTokenCall(request)
        let token = try token(of: try PushTokenRequest(wireBody: call.body))
        try await PushTokens(cloud).remove(token, in: call.place.container, call.place.environment, by: call.caller)
        return EndpointResponse(body: Array("{}".utf8), itemsIn: 1)
    }

    func listServices(_ request: IncomingRequest) throws -> EndpointResponse {
        _ = try PushTokenCall(request)
        let list = services.map { $0.announcement.merging(["service": $0.name]) { $1 } }
        return try .json(["services": list], itemsOut: list.count)
    }

    private func response(
        _ registration: PushRegistration, service: String, to call: PushTokenCall
    ) throws -> EndpointResponse {
        try .json(
            RegistrationBody(
                apnsEnvironment: service, apnsToken: Data(registration.token).base64EncodedString(),
                webcourierURL: registration.longPollPath.map { call.baseURL + CourierEndpoint.pathPrefix + $0 },
                position: call.caller.surface == .native ? registration.position : nil),
            itemsOut: 1)
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
        /// The URL for long polls; nil where a push service sends.
        var webcourierURL: String?
        /// The first position that our own SDK confirms; nil for others.
        var position: String?
    }
}

/// A request about push tokens that was let in.
private struct PushTokenCall {
    let place: ContainerPath
    let body: [UInt8]
    let caller: Caller
    let sessionID: String?
    /// The beginning of the courier's URL.
    let baseURL: String

    init(_ request: IncomingRequest) throws(RequestFailure) {
        place = try request.place
        guard let admission = request.admission else { throw .endpointNotFound }
        guard let baseURL = request.baseURL else {
            throw RequestFailure(.badRequest, "the request does not name its host")
        }
        self.baseURL = baseURL
        body = request.body
        caller = Caller(admission, surface: request.surface)
        sessionID = admission.sessionID
    }
}
