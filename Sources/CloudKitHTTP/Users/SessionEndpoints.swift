import CloudKitModel
import CloudKitServer
import Foundation

/// Signing devices and browsers in and out; an addition to CloudKit Web Services.
///
/// `POST /device/1/{container}/{environment}/sessions/…` with `ckAPIToken` in the query:
/// - `prepare {email}` → `{salt, rounds}`: how to derive the proof from the password.
/// - `create {email, proof, deviceName, lifetime}` → `{ckWebAuthToken, userRecordName, deviceID, expires}` and, with the
///   lifetime `device`, `deviceSecret`. Lifetimes are `session`, `persistent`, `device`.
/// - `create {deviceID, deviceSecret}` → the same for a device that is signed in and opens another container.
/// - `delete {deviceID, deviceSecret}` → `{}`.
///
/// Bytes travel as base 64, `expires` as milliseconds since 1970.
struct SessionEndpoints {
    var signIn: DeviceSignIn
    var cloud: Cloud

    /// - Parameter address: Where the request comes from.
    func answer(
        _ endpoint: Endpoint, place: DeviceSignIn.Place, body: [UInt8], address: String
    ) async throws -> Answer {
        switch endpoint {
        case .sessionsPrepare:
            let body = try SmallJSON.decode(PrepareBody.self, from: body)
            let puzzle = try await signIn.prepare(email: body.email)
            return Answer(
                body: try SmallJSON.encode(
                    PuzzleBody(salt: Data(puzzle.salt).base64EncodedString(), rounds: puzzle.rounds)))
        case .sessionsCreate:
            let body = try SmallJSON.decode(CreateBody.self, from: body)
            return Answer(body: try SmallJSON.encode(try await create(body, place, address)))
        case .sessionsDelete:
            let body = try SmallJSON.decode(DeviceBody.self, from: body)
            try await signIn.end(deviceID: body.deviceID, deviceSecret: try Self.bytes(body.deviceSecret))
            return Answer(body: Array("{}".utf8))
        default:
            throw Route.notFound
        }
    }

    private func create(
        _ body: CreateBody, _ place: DeviceSignIn.Place, _ address: String
    ) async throws -> SessionBody {
        let grant: DeviceSignIn.Grant
        if let deviceID = body.deviceID, let secret = body.deviceSecret {
            grant = try await signIn.resume(deviceID: deviceID, deviceSecret: try Self.bytes(secret), place: place)
        } else if let email = body.email, let proof = body.proof {
            let lifetime = body.lifetime.map { SessionLifetime(rawValue: $0) } ?? .session
            guard let lifetime else {
                throw RequestFailure(
                    .badRequest, "unknown lifetime", remedy: "It is session, persistent or device.")
            }
            grant = try await signIn.create(
                email: email, proof: try Self.bytes(proof), deviceName: body.deviceName ?? "", lifetime: lifetime,
                place: place, address: address)
        } else {
            throw RequestFailure(
                .badRequest, "nothing to sign in with", remedy: "Send email and proof, or deviceID and deviceSecret.")
        }
        try await cloud.enterUser(grant.user, in: place.container, place.environment)
        return SessionBody(
            ckWebAuthToken: grant.webAuthToken, userRecordName: grant.user.recordName, deviceID: grant.deviceID,
            deviceSecret: grant.deviceSecret.map { Data($0).base64EncodedString() }, expires: grant.expires)
    }

    private static func bytes(_ base64: String) throws(RequestFailure) -> [UInt8] {
        guard let data = Data(base64Encoded: base64) else {
            throw RequestFailure(.badRequest, "not base 64")
        }
        return Array(data)
    }

    private struct PrepareBody: Decodable {
        var email: String
    }

    private struct PuzzleBody: Encodable {
        var salt: String
        var rounds: Int
    }

    private struct CreateBody: Decodable {
        var email: String?
        var proof: String?
        var deviceName: String?
        var lifetime: String?
        var deviceID: String?
        var deviceSecret: String?
    }

    private struct DeviceBody: Decodable {
        var deviceID: String
        var deviceSecret: String
    }

    private struct SessionBody: Encodable {
        var ckWebAuthToken: String
        var userRecordName: String
        var deviceID: String
        var deviceSecret: String?
        var expires: Int64
    }
}
