import Crypto
import Foundation
import TextEncodings

/// Signs requests with a server-to-server key (docs/web-services.md §2.4).
package struct ServerKeySigner: Sendable {
    private let keyID: String
    private let key: P256.Signing.PrivateKey

    /// Creates the signer of a key.
    ///
    /// - Parameters:
    ///   - keyID: The identifier that the service gave the key.
    ///   - pem: The private key in PEM, as `openssl ecparam -genkey` writes it.
    /// - Throws: `CallFailure.misconfigured` for a text that is no key on the curve P-256.
    package init(keyID: String, pem: String) throws(CallFailure) {
        // `openssl ecparam -genkey` writes the curve's parameters before the key.
        let start = pem.range(of: "-----BEGIN EC PRIVATE KEY-----")?.lowerBound ?? pem.startIndex
        do {
            key = try P256.Signing.PrivateKey(pemRepresentation: String(pem[start...]))
        } catch {
            throw .misconfigured(
                "The server-to-server key is no private key on the curve P-256 in PEM. Make one with: "
                    + "openssl ecparam -name prime256v1 -genkey -noout -out key.pem")
        }
        self.keyID = keyID
    }

    /// Returns the headers of a signed request.
    ///
    /// - Parameters:
    ///   - target: The path of the request with its query.
    ///   - now: Milliseconds since 1970.
    func headers(for body: [UInt8], to target: String, now: Int64) throws(CallFailure) -> [String: String] {
        let date = Date(timeIntervalSince1970: Double(now / 1000)).formatted(.iso8601)
        let text = Self.text(date: date, body: body, target: target)
        guard let signature = try? key.signature(for: Data(text.utf8)) else {
            throw .misconfigured("The server-to-server key cannot sign")
        }
        return [
            "X-Apple-CloudKit-Request-KeyID": keyID, "X-Apple-CloudKit-Request-ISO8601Date": date,
            "X-Apple-CloudKit-Request-SignatureV1": Base64.encode(Array(signature.derRepresentation)),
        ]
    }

    /// The text that is signed.
    static func text(date: String, body: [UInt8], target: String) -> String {
        "\(date):\(Base64.encode(Array(SHA256.hash(data: body)))):\(target)"
    }
}
