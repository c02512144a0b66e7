import CloudKitModel
import JSONBytes

/// The body and answer of `tokens/create` (docs/web-services.md §12.1).
package struct PushTokenAnswer: Hashable, Sendable {
    /// Base 64.
    package var token: String
    /// The URL of the long poll. It is a secret: it suffices for reading the device's notifications.
    package var courierURL: String
    /// The position that the device confirms at first; our own addition.
    package var position: String?

    /// Prints the body of the request.
    ///
    /// - Parameter clientID: Chosen once by the device, so that it goes on where it was.
    package static func request(clientID: String, service: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.pair("apnsEnvironment", service)
            writer.pair("clientId", clientID)
        }
        return writer.bytes
    }

    /// - Throws: `internalError` if it cannot be read.
    package init(wireAnswer bytes: [UInt8]) throws(RequestFailure) {
        let (token, url, position) = try WireBody.answer(bytes) { reader in
            var token: String?
            var url: String?
            var position: String?
            try reader.object { reader, key in
                switch key {
                case "apnsToken": token = try reader.stringIfAny()
                case "webcourierURL": url = try reader.stringIfAny()
                case "position": position = try reader.stringIfAny()
                default: try reader.skipValue()
                }
            }
            return (token, url, position)
        }
        guard let token, let url else { throw .unreadableAnswer }
        self.token = token
        courierURL = url
        self.position = position
    }
}

/// The body of `tokens/create`, `tokens/register` and `tokens/delete` (docs/web-services.md §12.1, docs/web-push.md).
package struct PushTokenRequest: Hashable, Sendable {
    /// `development` or `production`.
    package var service: String?
    /// The push token; nil if none was sent.
    package var token: [UInt8]?
    /// The id of the client; nil if none was sent.
    package var clientID: String?
    /// The push service; nil for none.
    package var push: Push?

    /// Which push service is to send the notifications; our own addition.
    package struct Push: Hashable, Sendable {
        /// The name of the push service.
        package var service: String
        /// JSON, as the client has it from its platform.
        package var subscription: [UInt8]
        /// A Boolean value that indicates whether the device receives notifications that show nothing, too.
        package var takesSilent: Bool
    }

    /// Such a request is small.
    private static let limits = WireLimits(bodyBytesMax: 16_384, depthMax: 8)

    /// - Throws: `badRequest` for a malformed request, `sizeLimitExceeded` for more than 16 KiB.
    package init(wireBody bytes: [UInt8]) throws(RequestFailure) {
        self = try WireBody.request(bytes, limits: Self.limits) { reader in
            var request = PushTokenRequest()
            try reader.object { reader, key in
                switch key {
                case "apnsEnvironment": request.service = try reader.stringIfAny()
                case "apnsToken": request.token = try reader.base64IfAny()
                case "clientId": request.clientID = try reader.stringIfAny()
                case "push": request.push = try reader.readNull() ? nil : try Push(reading: &reader)
                default: try reader.skipValue()
                }
            }
            return request
        }
    }

    private init() {}
}

extension PushTokenRequest.Push {
    fileprivate init(reading reader: inout JSONReader) throws {
        var service: String?
        var subscription: [UInt8]?
        var takesSilent = false
        try reader.object { reader, key in
            switch key {
            case "service": service = try reader.stringIfAny()
            case "subscription": subscription = try reader.readNull() ? nil : try reader.rawValue()
            case "silent": takesSilent = try reader.boolIfAny() ?? false
            default: try reader.skipValue()
            }
        }
        guard let service else { throw RequestFailure.missing("push.service") }
        guard let subscription else { throw RequestFailure.missing("push.subscription") }
        self.init(service: service, subscription: subscription, takesSilent: takesSilent)
    }
}
