import Crypto
import Foundation

/// The three headers of a signed request (docs/web-services.md §2.4).
package struct ServerSignature: Hashable, Sendable {
    /// The id of a `ServerKey`.
    package var keyID: String
    /// As it was sent: the signature covers this very text.
    package var date: String
    /// Base 64 of the DER form.
    package var signature: String

    /// Creates a signature from the values of the request's headers.
    package init(keyID: String, date: String, signature: String) {
        self.keyID = keyID
        self.date = date
        self.signature = signature
    }

    /// The largest difference between a request's date and now, either way; milliseconds.
    package static let dateToleranceDefault: Int64 = 10 * 60_000

    /// Returns whether the date is near enough to now.
    package func isWithinTolerance(now: Int64, tolerance: Int64 = dateToleranceDefault) -> Bool {
        guard let milliseconds = ISO8601Time(date)?.milliseconds else { return false }
        return abs(now - milliseconds) <= tolerance
    }

    /// Returns whether the key made the signature over this request.
    ///
    /// - Parameter target: Path and query as received, nothing decoded. Clients differ in whether they sign the query, and
    ///   in the digest of an empty body, so each form is tried.
    package func isValid(publicKey: String, target: String, body: [UInt8]) -> Bool {
        guard let key = try? P256.Signing.PublicKey(pemRepresentation: publicKey),
            let der = Data(base64Encoded: signature),
            let signature = try? P256.Signing.ECDSASignature(derRepresentation: der)
        else { return false }
        var targets = [target]
        if let query = target.firstIndex(of: "?") { targets.append(String(target[..<query])) }
        var digests = [Data(SHA256.hash(data: body)).base64EncodedString()]
        if body.isEmpty { digests.append("") }
        return targets.contains { target in
            digests.contains { digest in
                key.isValidSignature(signature, for: Data("\(date):\(digest):\(target)".utf8))
            }
        }
    }
}
