import Foundation
import TextEncodings

/// The cloud's endpoints for devices, as one device reaches them.
struct DeviceCloud: Sendable {
    let configuration: DeviceConfiguration
    let send: DeviceTransport

    /// A value in a request's body.
    enum Value: Encodable, ExpressibleByStringLiteral {
        case text(String)
        case texts([String])
        case number(Int)
        case flag(Bool)
        /// Travels as base 64.
        case bytes([UInt8])

        init(stringLiteral text: String) { self = .text(text) }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .texts(let texts): try container.encode(texts)
            case .number(let number): try container.encode(number)
            case .flag(let flag): try container.encode(flag)
            case .bytes(let bytes): try container.encode(Data(bytes))
            }
        }
    }

    typealias Body = [String: Value]

    /// An answer in which there is nothing to read.
    struct Done: Decodable {}

    /// The app's token: the configured one, else the one with which this device opened the container here before.
    func apiToken(_ container: String) throws -> String {
        if let token = configuration.apiToken(for: container) { return token }
        let entry = try? configuration.deviceProfile.credentials(
            at: configuration.endpoint, for: container, environment: configuration.environment)
        guard let entry else { throw SignInError.apiTokenMissing(container) }
        return entry.apiToken
    }

    /// - Parameter otherToken: The API token of another app of the container; nil: this app's.
    /// - Throws: `SignInError`, and what `send` throws.
    func post<Answer: Decodable>(
        _ action: String, in container: String, _ body: Body, apiToken otherToken: String? = nil
    ) async throws -> Answer {
        let path = "/device/1/\(container.percentEncoded)/\(configuration.environment)/\(action)"
        let request = DeviceRequest(
            method: "POST",
            url: configuration.endpoint + path + "?ckAPIToken="
                + (try otherToken ?? apiToken(container)).percentEncoded,
            headers: ["Content-Type": "application/json", "X-Welkin-Client": "sdk/1"],
            body: Array(try JSONEncoder().encode(body)))
        let response = try await send(request)
        guard response.status == 200 else {
            let failure = try? JSONDecoder().decode(Failure.self, from: Data(response.body))
            throw SignInError.refused(
                Refusal(
                    status: response.status, code: failure?.failure,
                    reason: failure?.reason ?? "HTTP status \(response.status)", remedy: failure?.remedy,
                    retryAfter: failure?.retryAfter))
        }
        do {
            return try JSONDecoder().decode(Answer.self, from: Data(response.body))
        } catch {
            throw SignInError.answerMalformed
        }
    }

    private struct Failure: Decodable {
        var failure: String?
        var reason: String?
        var remedy: String?
        var retryAfter: Double?
    }
}

extension DeviceCredentials {
    /// The fields by which the device authenticates itself.
    var proof: DeviceCloud.Body { ["deviceID": .text(deviceID), "deviceSecret": .text(deviceSecret)] }
}

/// The refusal of a request by the cloud.
package struct Refusal: Hashable, Sendable {
    /// The HTTP status.
    package var status: Int
    /// The failure's name on the native surface.
    package var code: String?
    /// The reason that the cloud gave.
    package var reason: String
    /// What the cloud says to do; nil where the reason suffices.
    package var remedy: String?
    /// Seconds.
    package var retryAfter: Double?

    /// Creates a value with the given properties.
    package init(status: Int, code: String? = nil, reason: String, remedy: String? = nil, retryAfter: Double? = nil) {
        self.status = status
        self.code = code
        self.reason = reason
        self.remedy = remedy
        self.retryAfter = retryAfter
    }

    /// A Boolean value that indicates whether the app's API token was refused, which says nothing of the account
    /// (B-DB-14).
    package var isAboutAPIToken: Bool { code == "unknownAPIToken" }

    /// The problem of a signed-in device's account that the refusal shows; nil where it is about something else.
    package var trouble: AccountIssue? {
        switch code {
        case "accountRestricted": .disabled
        case "accountTemporarilyUnavailable": .keysReset
        case "authenticationFailed": .sessionEnded
        default: nil
        }
    }
}
