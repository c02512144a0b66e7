/// One line of the log: a request, or something that happened in the cloud without one.
///
/// It has identifiers, counts, times and fixed sentences: no field values, tokens, addresses or names of people. A person is the user's
/// record name in the container, which is another one in every container.
package struct LogEntry: Hashable, Sendable {
    /// The kind of an entry.
    package enum Kind: UInt8, Hashable, Sendable, CaseIterable {
        /// A request of an app, a device or a page.
        case request = 0
        /// Notifications that were decided, sent or dropped.
        case push = 1
        /// A sign-in or another request about an account and its devices.
        case signIn = 2
        /// A request that an injected fault refused.
        case fault = 3
        /// An operator's action.
        case operatorAction = 4

        /// The word for the kind in filters and on pages.
        package var word: String {
            switch self {
            case .request: "request"
            case .push: "push"
            case .signIn: "sign-in"
            case .fault: "fault"
            case .operatorAction: "operator"
            }
        }

        /// Creates the kind of a word; nil if it is none.
        package init?(word: String) {
            guard let kind = Self.allCases.first(where: { $0.word == word }) else { return nil }
            self = kind
        }
    }

    /// The identifier, which is that of the request and has the time in it.
    package var id: LogID
    /// The kind.
    package var kind: Kind
    /// The endpoint, the step of a notification, or the operator's order.
    package var operation: String
    /// The name of the container.
    package var container: String?
    /// `development` or `production`.
    package var environment: String?
    /// `public`, `private` or `shared`.
    package var database: String?
    /// The user's record name in the container.
    package var user: String?
    /// The device as records of this container show it.
    package var device: String?
    /// The name of the zone, the first one where a request has several.
    package var zone: String?
    /// The record type, the first one where a request has several.
    package var recordType: String?
    /// `sdk` for the framework, `web` for clients of web services.
    package var client: String?
    /// The client's identifier of the operation that sent the request.
    package var operationID: LogID?
    /// The client's identifier of the operation's group.
    package var group: LogID?
    /// The name that the app gave the group.
    package var groupName: String?
    /// The HTTP status; 0 without a request.
    package var status = 0
    /// The code of the error, of the first item where the request as a whole did not fail.
    package var code: String?
    /// The time from the request's head to its answer, at most 4,294 seconds.
    package var microseconds = 0
    /// Bytes of the request's body.
    package var bytesIn = 0
    /// Bytes of the answer's body.
    package var bytesOut = 0
    /// Items of the request; subscriptions that were met, for notifications.
    package var itemsIn = 0
    /// Items of the answer; notifications that were given away.
    package var itemsOut = 0
    /// Items that failed; notifications that were dropped.
    package var itemsFailed = 0
    /// Seconds that the answer asked the client to wait, rounded up.
    package var retryAfter = 0
    /// The failures and what else only some entries have; nil for none.
    package var details: LogDetails?
    /// The pseudonyms of the records that the request named, in their order as numbers, each once.
    package private(set) var records: [UInt64] = []

    /// Records of which an entry keeps the pseudonym: as many as a request may name.
    package static let recordsMax = 400

    /// Creates an entry with nothing but its place in the log.
    package init(id: LogID, kind: Kind, operation: String) {
        self.id = id
        self.kind = kind
        self.operation = operation
    }

    /// Sets the pseudonyms of the records that the request named.
    package mutating func setRecords(_ pseudonyms: [UInt64]) {
        records = Array(pseudonyms.prefix(Self.recordsMax))
        guard records.count > 1 else { return }
        records.sort()
        var last: UInt64?
        records.removeAll { record in
            defer { last = record }
            return record == last
        }
    }

    /// Milliseconds since 1970.
    package var time: Int64 { id.milliseconds }

    /// The fixed sentence of the first failure.
    package var reason: String? { details?.failures.first?.reason }

    /// A Boolean value that indicates whether the client was asked to slow down or to wait.
    package var isThrottled: Bool { code == "throttled" || retryAfter > 0 }
}
