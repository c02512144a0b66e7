import Foundation

/// A user whose requests to a container's databases are built as plain HTTP.
package struct SignedInUser: Sendable {
    package let container: String
    package let userRecordName: String
    package let apiToken: String
    private let query: String

    /// Creates a user from tokens.
    ///
    /// - Parameters:
    ///   - apiToken: The token of the app.
    ///   - webAuthToken: The token of the user.
    package init(container: String, userRecordName: String, apiToken: String, webAuthToken: String) {
        self.container = container
        self.userRecordName = userRecordName
        self.apiToken = apiToken
        query = "?ckAPIToken=\(Self.percentEncoded(apiToken))&ckWebAuthToken=\(Self.percentEncoded(webAuthToken))"
    }

    /// Returns the request target of a database endpoint.
    package func path(
        _ endpoint: String, in database: String = "private", environment: String = "development"
    ) -> String {
        "/database/1/\(container)/\(environment)/\(database)/\(endpoint)\(query)"
    }

    /// Returns the request target of an endpoint for accounts and devices; with `isUser`, as this user.
    package func devicePath(
        _ endpoint: String, isUser: Bool = false, environment: String = "development"
    ) -> String {
        let query = isUser ? query : "?ckAPIToken=\(Self.percentEncoded(apiToken))"
        return "/device/1/\(container)/\(environment)/\(endpoint)\(query)"
    }

    package func post(_ endpoint: String, _ body: String, database: String = "private") -> RawRequest {
        RawRequest.post(path(endpoint, in: database), body: Array(body.utf8))
    }

    package func makeZone(_ zone: String) -> RawRequest {
        post(
            "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"\#(zone)"}}}]}"#)
    }

    /// Returns a request that modifies records.
    ///
    /// - Parameter operations: The operations as JSON, at most 200 (B-LIM-03).
    package func modify(_ operations: [String], zone: String, atomic: Bool = true) -> RawRequest {
        post(
            "records/modify",
            #"{"zoneID":{"zoneName":"\#(zone)"},"atomic":\#(atomic),"operations":[\#(operations.joined(separator: ","))]}"#
        )
    }

    package func lookup(_ names: [String], zone: String) -> RawRequest {
        let records = names.map { #"{"recordName":"\#($0)"}"# }.joined(separator: ",")
        return post("records/lookup", #"{"zoneID":{"zoneName":"\#(zone)"},"records":[\#(records)]}"#)
    }

    package func changes(of zone: String, since token: String?, limit: Int) -> RawRequest {
        let token = token.map { #","syncToken":"\#($0)""# } ?? ""
        return post(
            "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"\#(zone)"},"resultsLimit":\#(limit)\#(token)}]}"#)
    }

    private static func percentEncoded(_ text: String) -> String {
        text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                String(Unicode.Scalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }
}
