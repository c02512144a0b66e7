/// The reason why a store cannot do what was asked. It never holds a byte of a key or value.
package struct StoreError: Error, Hashable, Sendable {
    /// The kinds of failure; a code exists only if a caller would act on it differently.
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// Another process holds the store; the same call may succeed later.
        case busy
        /// The store cannot be reached or read: a missing folder, a failing disk, no permission.
        case unavailable
        /// The stored data is damaged.
        case corrupt
        /// The value of one key is damaged; other keys can be read.
        case damagedValue
        case diskFull
        case readOnly
        /// A newer version of Welkin wrote the store.
        case newerFormat
        /// An older version of Welkin wrote the store, in a form that this one does not read.
        case olderFormat
        /// The file is something else.
        case notAStore
        /// The store, or the transaction, has ended.
        case closed
        /// A transaction touched a partition that it did not name at its start.
        case partitionNotNamed
    }

    /// The kind of failure.
    package let code: Code
    /// A fixed sentence that says what happened.
    package let reason: String
    /// An action that solves the problem.
    package let remedy: String
    /// Values that belong to the reason, such as a path.
    package let details: [String: String]

    /// Creates a value with the given properties.
    package init(code: Code, reason: String, remedy: String, details: [String: String] = [:]) {
        self.code = code
        self.reason = reason
        self.remedy = remedy
        self.details = details
    }
}

extension StoreError: CustomStringConvertible {
    /// A textual form of the value, for logs and debugging.
    package var description: String {
        let values = details.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ", ")
        return "\(reason)\(values.isEmpty ? "" : " (\(values))"): \(remedy)"
    }
}

extension StoreError {
    static let noPartition = Self(
        code: .partitionNotNamed, reason: "a write named no partition",
        remedy: "name every partition that the write touches, the home first")

    static let partitionNotNamed = Self(
        code: .partitionNotNamed, reason: "a transaction touched a partition it had not named",
        remedy: "name every partition that the write touches")

    static let malformedKey = Self(
        code: .corrupt, reason: "a key is not of the form expected", remedy: "restore the store from a backup")

    /// The store was closed.
    package static let closed = Self(
        code: .closed, reason: "the store is closed", remedy: "open it again")

    /// The value of one key is damaged.
    package static func damagedValue(in partition: Partition) -> Self {
        Self(
            code: .damagedValue, reason: "a stored value is damaged",
            remedy: "find what is damaged with welkin check, then restore the store from a backup",
            details: ["partition": partition.name])
    }

    /// The transaction has ended.
    package static let transactionEnded = Self(
        code: .closed, reason: "the transaction has ended", remedy: "use a transaction only inside its body")
}
