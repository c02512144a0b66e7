import Crypto
import Foundation

/// The three headers of a signed request (docs/web-services.md §2.4).
package struct ServerSignature: Hashable, Sendable {
    package var keyID: String
    /// As it was sent: the signature covers this very text.
    package var date: String
    /// Base 64 of the DER form.
    package var signature: String

    package init(keyID: String, date: String, signature: String) {
        self.keyID = keyID
        self.date = date
        self.signature = signature
    }

    /// How far a request's date may be off, either way; milliseconds.
    package static let dateToleranceDefault: Int64 = 10 * 60_000

    /// Whether the date lies near enough to now.
    package func isTimely(now: Int64, tolerance: Int64 = dateToleranceDefault) -> Bool {
        guard let milliseconds = ISO8601Time(date)?.milliseconds else { return false }
        return abs(now - milliseconds) <= tolerance
    }

    /// Whether the key made the signature over this request.
    ///
    /// - Parameter target: Path and query as received, nothing decoded. Clients differ in whether they sign the query, and
    ///   in what stands for an empty body, so each form is tried.
    package func isGood(publicKey: String, target: String, body: [UInt8]) -> Bool {
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

/// A time such as `2016-01-25T22:15:43Z`.
struct ISO8601Time: Hashable {
    /// Since 1970.
    var milliseconds: Int64

    /// Takes a fraction, which is cut to milliseconds, and an offset instead of `Z`.
    init?(_ text: String) {
        let pattern = /(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):?(\d\d))/
        guard let match = text.wholeMatch(of: pattern)?.output,
            let year = Int64(match.1), let month = Int64(match.2), let day = Int64(match.3),
            let hour = Int64(match.4), let minute = Int64(match.5), let second = Int64(match.6),
            (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        var seconds = Self.days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
        if let sign = match.8, let hours = match.9.flatMap({ Int64($0) }), let minutes = match.10.flatMap({ Int64($0) })
        {
            seconds -= (sign == "-" ? -1 : 1) * (hours * 3600 + minutes * 60)
        }
        let fraction = match.7.flatMap { Int64(($0 + "000").prefix(3)) } ?? 0
        milliseconds = seconds * 1000 + fraction
    }

    /// Days since 1970 of a day of the Gregorian calendar, by counting years from March.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let era = marchYear / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
