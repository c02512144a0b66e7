/// The part of an entry that only some have: failures, and named values of an operator's action or of notifications.
package struct LogDetails: Hashable, Sendable, Codable {
    /// The failures of the request or of its first items, at most `failuresMax`.
    package var failures: [LogFailure]
    /// Further values by name, such as the operator of an order or the reasons for which notifications were dropped.
    package var attributes: [String: String]

    /// The number of failed items of which an entry keeps the failure.
    package static let failuresMax = 10

    /// Creates details.
    package init(failures: [LogFailure] = [], attributes: [String: String] = [:]) {
        self.failures = failures
        self.attributes = attributes
    }
}

/// A failure of a request or of one of its items: all that a developer needs to mend it, and no value of a field.
package struct LogFailure: Hashable, Sendable, Codable {
    /// The name of the record, zone or subscription; nil for the request as a whole.
    package var item: String?
    /// The record type; nil where there is none.
    package var recordType: String?
    /// The code, as `RequestFailure.Code` has it.
    package var code: String
    /// A fixed sentence, with the names of types and fields.
    package var reason: String
    /// The caller's remedy.
    package var remedy: String?

    /// Creates a failure.
    package init(
        item: String? = nil, recordType: String? = nil, code: String, reason: String, remedy: String? = nil
    ) {
        self.item = item
        self.recordType = recordType
        self.code = code
        self.reason = reason
        self.remedy = remedy
    }
}
