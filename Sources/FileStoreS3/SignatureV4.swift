import Crypto
import Foundation
import TextEncodings

/// Signs requests in the way of AWS's signature version 4, for its service S3.
struct SignatureV4 {
    let accessKey: String
    let secretKey: String
    let region: String

    private static let algorithm = "AWS4-HMAC-SHA256"

    /// Returns the header `Authorization` of a request.
    ///
    /// - Parameters:
    ///   - method: The HTTP method.
    ///   - path: The path, not encoded, with its first slash.
    ///   - query: The parameters, not encoded, in any order.
    ///   - headers: All that are signed, among them `host` and `x-amz-date`; names in lower case.
    ///   - payload: The SHA-256 digest of the body, in hexadecimal.
    ///   - time: The time of the request, the same as in `x-amz-date`.
    func authorization(
        method: String, path: String, query: [(String, String)], headers: [String: String], payload: String,
        time: S3Time
    ) -> String {
        let signature = signature(
            method: method, path: path, query: query, headers: headers, payload: payload, time: time)
        return "\(Self.algorithm) Credential=\(accessKey)/\(scope(time)),"
            + "SignedHeaders=\(headers.keys.sorted().joined(separator: ";")),Signature=\(signature)"
    }

    /// Returns the query of a URL that is the permission to get an object.
    ///
    /// - Parameters:
    ///   - path: The path, not encoded, with its first slash.
    ///   - host: The host as the request names it.
    ///   - query: Further parameters, not encoded.
    ///   - lifetime: Seconds for which the URL is good, at most a week.
    func urlQuery(
        path: String, host: String, query: [(String, String)], lifetime: Int, time: S3Time
    ) -> String {
        let query =
            query + [
                ("X-Amz-Algorithm", Self.algorithm), ("X-Amz-Credential", "\(accessKey)/\(scope(time))"),
                ("X-Amz-Date", time.stamp), ("X-Amz-Expires", String(lifetime)), ("X-Amz-SignedHeaders", "host"),
            ]
        let signature = signature(
            method: "GET", path: path, query: query, headers: ["host": host], payload: "UNSIGNED-PAYLOAD", time: time)
        return Self.encoded(query) + "&X-Amz-Signature=" + signature
    }

    private func signature(
        method: String, path: String, query: [(String, String)], headers: [String: String], payload: String,
        time: S3Time
    ) -> String {
        let names = headers.keys.sorted()
        let canonical = [
            method, Self.encoded(path, keepsSlashes: true), Self.encoded(query),
            names.map { "\($0):\(Self.trimmed(headers[$0] ?? ""))\n" }.joined(), names.joined(separator: ";"), payload,
        ].joined(separator: "\n")
        let text = [Self.algorithm, time.stamp, scope(time), Self.digest(Array(canonical.utf8))]
            .joined(separator: "\n")
        var key = SymmetricKey(data: Data("AWS4\(secretKey)".utf8))
        for part in [time.day, region, "s3", "aws4_request"] {
            key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Data(part.utf8), using: key))
        }
        return String(hexadecimal: Array(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)))
    }

    private func scope(_ time: S3Time) -> String { "\(time.day)/\(region)/s3/aws4_request" }

    /// Returns the SHA-256 digest of bytes in hexadecimal.
    static func digest(_ bytes: [UInt8]) -> String { String(hexadecimal: Array(SHA256.hash(data: bytes))) }

    /// Returns a query in its canonical form, which is also the form in which it is sent.
    static func encoded(_ query: [(String, String)]) -> String {
        query.map { (encoded($0.0), encoded($0.1)) }
            .sorted {
                $0.0 == $1.0
                    ? $0.1.utf8.lexicographicallyPrecedes($1.1.utf8) : $0.0.utf8.lexicographicallyPrecedes($1.0.utf8)
            }
            .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    /// Percent-encodes all bytes but letters, digits and `-._~`.
    static func encoded(_ text: String, keepsSlashes: Bool = false) -> String {
        guard keepsSlashes else { return text.percentEncoded }
        return text.split(separator: "/", omittingEmptySubsequences: false).map { String($0).percentEncoded }
            .joined(separator: "/")
    }

    private static func trimmed(_ value: String) -> String {
        value.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }
}
