import CloudKitDevice
import Foundation
import TextEncodings

/// What an operation, its group and its configuration say about each of its requests.
struct CallSettings: Hashable, Sendable {
    /// All requests of one operation carry its identifier (B-OPS-07).
    var operationID: String
    var group: GroupStamp?
    var isDiscretionary: Bool
    /// Seconds without data.
    var requestTimeout: TimeInterval
    /// Seconds for the whole operation.
    var resourceTimeout: TimeInterval
    var allowsCellularAccess: Bool

    var retries: RetryPolicy { isDiscretionary ? .discretionary : .failFast }

    /// What tells the server's log which operation a request belongs to.
    var headers: [String: String] {
        var headers = ["X-Welkin-Client": "sdk/1", "X-Welkin-Operation": operationID]
        if let group { headers.merge(group.headers) { _, new in new } }
        return headers
    }
}

/// What of a `CKOperationGroup` travels with a request.
struct GroupStamp: Hashable, Sendable {
    var groupID: String
    var name: String?
    var quantity: Int
    /// Bytes, the upper end of the expected size; nil when unknown.
    var expectedSendBytes: Int64?
    var expectedReceiveBytes: Int64?

    var headers: [String: String] {
        var headers = ["X-Welkin-Operation-Group": groupID]
        // A name is free text; a header line is not.
        if let name { headers["X-Welkin-Operation-Group-Name"] = name.percentEncoded }
        if quantity > 0 { headers["X-Welkin-Group-Quantity"] = String(quantity) }
        if let expectedSendBytes { headers["X-Welkin-Group-Expected-Send"] = String(expectedSendBytes) }
        if let expectedReceiveBytes { headers["X-Welkin-Group-Expected-Receive"] = String(expectedReceiveBytes) }
        return headers
    }
}
