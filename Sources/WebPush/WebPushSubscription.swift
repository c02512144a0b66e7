import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Crypto
import Foundation
import TextEncodings

/// Where a browser wants its messages sent and how they are sealed for it: what `PushSubscription.toJSON()` says.
struct WebPushSubscription: Hashable, Sendable {
    /// The push service's address for this one browser. Whoever has it can make work for the service, and nothing else.
    var endpoint: WebPushEndpoint
    /// The browser's public key, P-256, uncompressed: 65 bytes.
    var key: [UInt8]
    /// 16 bytes that browser and cloud share.
    var authentication: [UInt8]

    private struct Form: Codable {
        struct Keys: Codable {
            var p256dh: String
            var auth: String
        }

        var endpoint: String
        var keys: Keys
    }

    static let authenticationBytes = 16

    /// Reads what a client sends: `{"endpoint": "https://…", "keys": {"p256dh": "…", "auth": "…"}}`; other keys are ignored.
    ///
    /// - Throws: `badRequest`, without a word of what was sent.
    init(_ json: [UInt8], rules: WebPushEndpointRules) throws(RequestFailure) {
        guard json.count <= PushAddress.bytesMax, let form = try? JSONDecoder().decode(Form.self, from: Data(json))
        else {
            throw Self.bad("Send what PushSubscription.toJSON() gives.")
        }
        endpoint = try rules.endpoint(form.endpoint)
        guard let key = Base64URL.decode(form.keys.p256dh), let auth = Base64URL.decode(form.keys.auth),
            auth.count == Self.authenticationBytes, (try? P256.KeyAgreement.PublicKey(x963Representation: key)) != nil
        else { throw Self.bad("p256dh is a point of P-256, 65 bytes, and auth 16 bytes, in base 64 for URLs.") }
        self.key = key
        authentication = auth
    }

    /// The address as it is stored.
    var address: PushAddress {
        get throws(RequestFailure) {
            let form = Form(
                endpoint: endpoint.url,
                keys: Form.Keys(p256dh: Base64URL.encode(key), auth: Base64URL.encode(authentication)))
            guard let bytes = try? JSONEncoder().encode(form) else { throw Self.bad("It cannot be written down.") }
            return PushAddress(bytes: Array(bytes), identity: endpoint.url)
        }
    }

    private static func bad(_ remedy: String) -> RequestFailure {
        RequestFailure(.badRequest, "bad Web Push subscription", remedy: remedy)
    }
}
