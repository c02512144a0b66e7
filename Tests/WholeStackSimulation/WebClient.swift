import CloudKit
import CloudKitClient
import Foundation

/// A program that speaks documented web services for a user, with a token of the user's device: for what Apple's framework cannot
/// express, `replace`, `forceReplace`, `forceUpdate` and validated references.
final class WebClient: Sendable {
    private let network: SimulatedNetwork
    private let endpoint: String
    private let apiToken: String
    private let token: Shared<String>

    init(network: SimulatedNetwork, endpoint: String, apiToken: String, token: String) {
        self.network = network
        self.endpoint = endpoint
        self.apiToken = apiToken
        self.token = Shared(token)
    }

    /// The answer to one operation.
    struct Answer {
        /// The code of an error; nil: done.
        var code: String?
        var fields: [String: Any]
        var tag: String?
        /// Whether the cloud may have done it although it did not say so.
        var isUncertain = false
    }

    /// Sends one operation on a record of the default zone.
    ///
    /// - Parameters:
    ///   - type: Such as `forceReplace`.
    ///   - references: Field to name of the record that the reference is validated against.
    func modify(
        _ type: String, _ name: String, fields: [String: Int], references: [String: String] = [:], tag: String? = nil
    ) async throws -> Answer {
        var members = fields.mapValues { ["value": $0, "type": "INT64"] as [String: Any] }
        for (field, target) in references {
            members[field] = ["value": ["recordName": target, "action": "VALIDATE"], "type": "REFERENCE"]
        }
        var record: [String: Any] = ["recordName": name, "recordType": "Page", "fields": members]
        if let tag { record["recordChangeTag"] = tag }
        return try await first(
            "records/modify", ["operations": [["operationType": type, "record": record] as [String: Any]]])
    }

    func lookup(_ name: String) async throws -> Answer {
        try await first("records/lookup", ["records": [["recordName": name]]])
    }

    private func first(_ path: String, _ body: [String: Any]) async throws -> Answer {
        let data = try JSONSerialization.data(withJSONObject: body, options: [.sortedKeys])
        let allowed = CharacterSet.alphanumerics
        guard let web = token.value.addingPercentEncoding(withAllowedCharacters: allowed),
            let api = apiToken.addingPercentEncoding(withAllowedCharacters: allowed),
            let url = URL(
                string: "\(endpoint)/database/1/\(SimulatedCloud.container)/development/private/\(path)"
                    + "?ckAPIToken=\(api)&ckWebAuthToken=\(web)")
        else { throw CancellationError() }
        let response = try await network.send(
            TransportRequest(
                method: .post, url: url, headers: ["Content-Type": "text/plain"], body: Array(data)))
        if let next = response.headers["x-apple-cloudkit-web-auth-token"] { token.value = next }
        guard let object = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any] else {
            return Answer(code: "MALFORMED", fields: [:])
        }
        if let code = object["serverErrorCode"] as? String {
            return Answer(code: code, fields: [:], isUncertain: response.status >= 500 || response.status == 429)
        }
        guard let record = (object["records"] as? [[String: Any]])?.first else {
            return Answer(code: "MALFORMED", fields: [:])
        }
        let values = (record["fields"] as? [String: [String: Any]] ?? [:]).compactMapValues { $0["value"] }
        return Answer(
            code: record["serverErrorCode"] as? String, fields: values, tag: record["recordChangeTag"] as? String)
    }
}
