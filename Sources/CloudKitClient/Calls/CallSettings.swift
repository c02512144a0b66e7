import CloudKitDevice
import Foundation
import TextEncodings

/// The settings of an operation, its group and its configuration for each of its requests.
package struct CallSettings: Hashable, Sendable {
    /// All requests of one operation carry its identifier (B-OPS-07).
    package var operationID: String
    /// The group of the operation; nil: none.
    package var group: OperationGroupInfo?
    var isDiscretionary: Bool
    /// Seconds without data.
    package var requestTimeout: TimeInterval
    /// Seconds for the whole operation.
    package var resourceTimeout: TimeInterval
    /// A Boolean value that indicates whether requests may use a cellular network. Ignored on Linux.
    package var allowsCellularAccess: Bool
    /// The account for which the operation began: its requests are sent for no other user. nil: for whoever is signed in.
    package var account: AccountState?

    /// Creates settings; both timeouts are in seconds.
    package init(
        operationID: String, group: OperationGroupInfo? = nil, isDiscretionary: Bool, requestTimeout: TimeInterval,
        resourceTimeout: TimeInterval, allowsCellularAccess: Bool
    ) {
        self.operationID = operationID
        self.group = group
        self.isDiscretionary = isDiscretionary
        self.requestTimeout = requestTimeout
        self.resourceTimeout = resourceTimeout
        self.allowsCellularAccess = allowsCellularAccess
    }

    /// The default time without data, in seconds: a minute.
    package static let requestTimeoutDefault: TimeInterval = 60
    /// The default time for the whole operation, in seconds: a week.
    package static let resourceTimeoutDefault: TimeInterval = 7 * 24 * 3600

    /// The defaults of a call that a user waits for.
    package static func userInitiated() -> CallSettings {
        CallSettings(
            operationID: UUID().uuidString, group: nil, isDiscretionary: false, requestTimeout: requestTimeoutDefault,
            resourceTimeout: resourceTimeoutDefault, allowsCellularAccess: true)
    }

    var retries: RetryPolicy { isDiscretionary ? .discretionary : .failFast }

    /// The headers that name the operation of a request for the server's log.
    var headers: [String: String] {
        var headers = ["X-Welkin-Client": "sdk/1", "X-Welkin-Operation": operationID]
        if let group { headers.merge(group.headers) { _, new in new } }
        return headers
    }
}

/// The part of an operation group that travels with a request.
package struct OperationGroupInfo: Hashable, Sendable {
    var groupID: String
    /// The name of the group, for the server's log.
    package var name: String?
    /// The expected number of operations in the group.
    package var quantity: Int
    /// Bytes, the upper end of the expected size; nil when unknown.
    var expectedSendBytes: Int64?
    var expectedReceiveBytes: Int64?

    /// Creates the part of a group that travels with a request.
    package init(
        groupID: String, name: String? = nil, quantity: Int, expectedSendBytes: Int64? = nil,
        expectedReceiveBytes: Int64? = nil
    ) {
        self.groupID = groupID
        self.name = name
        self.quantity = quantity
        self.expectedSendBytes = expectedSendBytes
        self.expectedReceiveBytes = expectedReceiveBytes
    }

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
