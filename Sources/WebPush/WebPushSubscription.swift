import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Crypto
import Foundation
import TextEncodings

/// A browser's subscription: the endpoint for its messages and the keys for their encryption, as in `PushSubscription.toJSON()`.
struct WebPushSubscription: Hashable, Sendable {
    /// The push service's address for this browser. It grants nothing but sending messages, which the browser ignores unless they
    /// are encrypted for it.
    var endpoint: WebPushEndpoint
    /// The browser's public key, P-256, uncompressed: 65 bytes.
    var key: [UInt8]
    /// The authentication secret shared by browser and cloud, 16 bytes.
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

    /// Parses a client's subscription: `{"endpoint": "https://…", "keys": {"p256dh": "…", "auth": "…"}}`; other keys are ignored.
    ///
    /// - Throws: `badRequest`, without the content of the subscription.
    init(_ json: [UInt8], rules: WebPushEndpointRules) throws(RequestFailure) {
        guard json.count <= PushAddress.bytesMax, let form = try? JSONDecoder().decode(Form.self, from: Data(json))
        else {
            throw Self.bad("Send the JSON of PushSubscription.toJSON().")
        }
        endpoint = try rules.endpoint(form.endpoint)
        guard let key = Base64URL.decode(form.keys.p256dh), let auth = Base64URL.decode(form.keys.auth),
            auth.count == Self.authenticationBytes, (try? P256.KeyAgreement.PublicKey(x963Representation: key)) != nil
        else { throw Self.bad("p256dh is a point of P-256, 65 bytes, and auth 16 bytes, in base 64 for URLs.") }
        self.key = key
        authentication = auth
    }

    /// The address in its stored form.
    var address: PushAddress {
        get throws(RequestFailure) {
            let form = Form(
                endpoint: endpoint.url,
                keys: Form.Keys(p256dh: Base64URL.encode(key), auth: Base64URL.encode(authentication)))
            guard let bytes = try? JSONEncoder().encode(form) else { throw Self.bad("It cannot be encoded.") }
            return PushAddress(bytes: Array(bytes), identity: endpoint.url)
        }
    }

    private static func bad(_ remedy: String) -> RequestFailure {
        RequestFailure(.badRequest, "bad Web Push subscription", remedy: remedy)
    }
}
