import CloudKitModel
import JSONBytes

/// What a device asks for and gets by `tokens/create` (web-services.md §12.1).
package struct PushTokenAnswer: Hashable, Sendable {
    /// Base 64.
    package var token: String
    /// Whoever has it may read the device's notifications.
    package var courierURL: String
    /// What the device confirms at first; our own addition.
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
