import CloudKitDevice
import Foundation
import HTTPTransfer
import TextEncodings

/// Sends requests to a cloud and reads its JSON answers.
struct CloudClient {
    /// Scheme, host and port.
    var endpoint: String

    /// A request and how its refusal is explained.
    struct Call {
        var method = "POST"
        /// The path with its query, percent-encoded.
        var path: String
        var headers: [String: String] = [:]
        var body: JSONTree?
        /// The sentence for 401; nil: the cloud's own.
        var refusedToken: String?
    }

    /// Returns the answer to a request.
    ///
    /// - Throws: `CloudRefusal`, or `ToolFailure` where there is no answer.
    func send(_ call: Call) async throws -> CloudAnswer {
        let request = HTTPClient.Request(
            method: call.method, url: endpoint + call.path,
            headers: call.headers.merging(["Content-Type": "application/json"]) { own, _ in own },
            body: try call.body?.bytes ?? [])
        let answer = try await Self.send(request)
        guard answer.status == 200 else { throw CloudRefusal(answer, refusedToken: call.refusedToken) }
        guard let tree = try? JSONTree(decoding: answer.body) else {
            throw ToolFailure(
                "The server at \(endpoint) did not answer as a Welkin cloud. Check the address.")
        }
        return CloudAnswer(tree: tree, webAuthToken: answer.headers["x-apple-cloudkit-web-auth-token"])
    }

    /// Sends a file to a place that the cloud named for it, and returns what the cloud answers about it.
    func upload(_ bytes: [UInt8], to url: String) async throws -> JSONTree {
        guard let parsed = URL(string: url), DeviceConfiguration.isEncryptedOrLocal(parsed) else {
            throw ToolFailure("The cloud wants the file at an address that is not encrypted: \(url.onOneLine).")
        }
        let answer = try await Self.send(
            HTTPClient.Request(
                method: "POST", url: url, headers: ["Content-Type": "application/octet-stream"], body: bytes))
        guard answer.status == 200 else { throw CloudRefusal(answer) }
        guard let file = try? JSONTree(decoding: answer.body)["singleFile"] else {
            throw ToolFailure("The cloud's answer to an uploaded file cannot be read.")
        }
        return file
    }

    private static func send(_ request: HTTPClient.Request) async throws -> HTTPClient.Answer {
        do {
            return try await HTTPClient.shared.send(request)
        } catch let failure as HTTPClient.Failure {
            let cloud = "The cloud at \(request.origin)"
            throw switch failure.kind {
            case .unreachable:
                ToolFailure(
                    "\(cloud) cannot be reached (\(failure.reason)). Is it running? Start one with: welkin serve")
            case .notTrusted:
                ToolFailure(
                    "\(cloud) could not prove its identity (\(failure.reason)). Check its certificate and the address; the certificate of "
                        + "a private authority belongs into the file that CLOUDKIT_CA_FILE names.")
            case .requestUnusable:
                ToolFailure("\(cloud) cannot be used (\(failure.reason)). Check the address.")
            case .connectionLost, .answerLost, .timedOut, .answerTooLarge:
                ToolFailure("\(cloud) did not answer (\(failure.reason)). Try again.")
            }
        }
    }
}

/// The answer of a cloud.
struct CloudAnswer {
    var tree: JSONTree
    /// The user's next token.
    var webAuthToken: String?
}

/// The refusal of a request, or of one item of it.
struct CloudRefusal: Error, CustomStringConvertible {
    var code: String?
    var reason: String
    var remedy: String?
    var uuid: String?
    var refusedToken: String?

    /// Reads the refusal of a request.
    init(_ answer: HTTPClient.Answer, refusedToken: String? = nil) {
        let tree = try? JSONTree(decoding: answer.body)
        self.init(item: tree ?? .null, status: answer.status)
        if answer.status == 401 || answer.status == 421 { self.refusedToken = refusedToken }
    }

    /// Reads the error object of a request, or of an item.
    init(item: JSONTree, status: Int? = nil) {
        code = item["serverErrorCode"]?.text
        reason = item["reason"]?.text ?? status.map { "HTTP status \($0)" } ?? "unknown"
        remedy = item["remedy"]?.text
        uuid = item["uuid"]?.text
    }

    /// The reason with what to do, and the request's id in the operator's log.
    var description: String {
        var sentences = [refusedToken, sentence(reason)].compactMap { $0 }
        if let remedy = remedy ?? Self.remedy(of: reason, code) { sentences.append(remedy) }
        if let uuid { sentences.append("(\(code ?? "error"), request \(uuid))") }
        return sentences.joined(separator: " ").onOneLine
    }

    private func sentence(_ text: String) -> String {
        let text = text.prefix(1).uppercased() + text.dropFirst()
        return text.hasSuffix(".") ? text : text + "."
    }

    /// Returns what to do about the errors of web services that come without advice.
    private static func remedy(of reason: String, _ code: String?) -> String? {
        if reason.hasPrefix("Type is not marked indexable") {
            return "Add QUERYABLE to \"___recordID\" of the type in the schema and import it, or give --filters."
        }
        if reason.hasSuffix("is not marked queryable") {
            return "Add QUERYABLE to the field in the schema and import it."
        }
        if reason.hasSuffix("is not marked sortable") {
            return "Add SORTABLE to the field in the schema and import it."
        }
        if reason.hasPrefix("Did not find record type") {
            return "Import a schema that has the type, and in production deploy it."
        }
        return switch code {
        case "CONFLICT": "Look the record up again, and give its newest --record-change-tag."
        case "ZONE_NOT_FOUND": "Check --zone-name; in the shared database also --owner-id."
        case "THROTTLED", "TRY_AGAIN_LATER": "Try again later."
        default: nil
        }
    }
}
