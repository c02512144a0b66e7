/// The entries that a reader of the log wants: those that meet every condition that is set.
package struct LogFilter: Hashable, Sendable {
    /// The earliest time, in milliseconds since 1970.
    package var from: Int64?
    /// The time before which entries lie, in milliseconds since 1970.
    package var to: Int64?
    /// The kinds; empty for all.
    package var kinds: Set<LogEntry.Kind> = []
    /// The name of the container.
    package var container: String?
    /// `development` or `production`.
    package var environment: String?
    /// `public`, `private` or `shared`.
    package var database: String?
    /// The user's record name in the container.
    package var user: String?
    /// The device as records of the container show it.
    package var device: String?
    /// The name of the zone.
    package var zone: String?
    /// The record type.
    package var recordType: String?
    /// The endpoint, the step of a notification, or the operator's order.
    package var operation: String?
    /// The client's identifier of an operation.
    package var operationID: LogID?
    /// The client's identifier of a group of operations.
    package var group: LogID?
    /// The name of a group of operations.
    package var groupName: String?
    /// HTTP statuses.
    package var status: ClosedRange<Int>?
    /// The code of an error.
    package var code: String?
    /// A Boolean value that indicates whether only entries with an error are wanted.
    package var onlyFailures = false
    /// The least time in microseconds that a request took.
    package var microsecondsMin: Int?
    /// The beginning of the request's identifier.
    package var idPrefix: String?
    /// The name of an item that failed.
    package var item: String?
    /// The pseudonym of a record that the request named (`RecordPseudonyms`).
    package var record: UInt64?
    /// A part of the operation, the container, the zone, the record type, the code, the group's name or the reason, in any case.
    package var text: String?

    /// Creates a filter that every entry meets.
    package init() {}

    /// Returns a Boolean value that indicates whether an entry meets all conditions.
    package func matches(_ entry: LogEntry) -> Bool {
        if let from, entry.time < from { return false }
        if let to, entry.time >= to { return false }
        if !kinds.isEmpty, !kinds.contains(entry.kind) { return false }
        if let container, entry.container != container { return false }
        if let environment, entry.environment != environment { return false }
        if let database, entry.database != database { return false }
        if let user, entry.user != user { return false }
        if let device, entry.device != device { return false }
        if let zone, entry.zone != zone { return false }
        if let recordType, entry.recordType != recordType { return false }
        if let operation, entry.operation != operation { return false }
        if let operationID, entry.operationID != operationID { return false }
        if let group, entry.group != group { return false }
        if let groupName, entry.groupName != groupName { return false }
        if let status, !status.contains(entry.status) { return false }
        if let code, entry.code != code { return false }
        if onlyFailures, entry.code == nil { return false }
        if let microsecondsMin, entry.microseconds < microsecondsMin { return false }
        if let idPrefix {
            guard let range = LogID.range(ofPrefix: idPrefix), range.lower <= entry.id, entry.id <= range.upper else {
                return false
            }
        }
        if let item {
            guard entry.details?.failures.contains(where: { $0.item == item }) == true else { return false }
        }
        if let record, !entry.records.contains(record) { return false }
        if let text {
            let folded = Self.folded(text)
            let texts = [
                entry.operation, entry.container, entry.zone, entry.recordType, entry.code, entry.groupName,
                entry.reason,
            ]
            guard texts.contains(where: { $0.map { Self.folded($0).contains(folded) } ?? false }) else { return false }
        }
        return true
    }

    /// Returns a text in which the case of ASCII letters does not count.
    package static func folded(_ text: String) -> String {
        String(decoding: text.utf8.map { $0 >= 65 && $0 <= 90 ? $0 + 32 : $0 }, as: UTF8.self)
    }

    /// A Boolean value that indicates whether no entry can meet the filter: its conditions exclude each other.
    package var isEmpty: Bool {
        if let from, let to, from >= to { return true }
        if let idPrefix, LogID.range(ofPrefix: idPrefix) == nil { return true }
        return false
    }
}
