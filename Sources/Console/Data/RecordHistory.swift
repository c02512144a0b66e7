import CloudKitHTTP
import CloudKitLogs
import CloudKitModel
import CloudKitServer

/// The requests and orders that named a record, as the log has them.
struct RecordHistory {
    /// The log; nil for a cloud without one.
    let store: (any LogStore)?

    /// Entries that are shown.
    private static let entriesMax = 20
    /// Milliseconds that the request which made a record may have begun before it.
    private static let requestMax: Int64 = 600_000

    /// Returns the newest entries as a table.
    ///
    /// - Parameter created: Milliseconds since 1970 at which the record was created: nothing before that is about it.
    func html(
        of record: ChosenRecord, created: Int64, in database: DatabaseChoice, _ request: PageRequest
    ) async -> HTML {
        guard let store else { return Tag.p(.class("quiet"), text: "This cloud keeps no log of requests.") }
        let pseudonym = database.pseudonym(of: record, request)
        var filter = LogFilter()
        filter.record = pseudonym
        filter.container = database.place.container.name
        filter.environment = database.place.environment.rawValue
        filter.from = created - Self.requestMax
        let page: LogPage
        do throws(LogStoreError) {
            page = try await store.entries(filter, before: nil, limit: Self.entriesMax)
        } catch {
            return Part.alert { Tag.p("The log cannot be read: \(error.reason).") }
        }
        return HTML([
            Part.table(
                caption: "The newest requests and orders that named it",
                columns: ["Time", "Operation", "Result", "Duration", "User and device"],
                rows: page.items.map { row($0.entry, request) },
                empty: page.searchedTo.map { "The log has none since \(TimeText.text($0)); there may be older ones." }
                    ?? "The log has none, or no longer: it keeps entries for some weeks."),
            page.next == nil
                ? HTML()
                : Tag.p {
                    Part.link(
                        "All in the log",
                        request.logAddress(
                            ["logs"],
                            query: [(LogFilterForm.Field.named.rawValue, RecordPseudonyms.text(pseudonym))]))
                },
        ])
    }

    private func row(_ entry: LogEntry, _ request: PageRequest) -> [HTML] {
        [
            Part.link(TimeText.text(entry.time), request.logAddress(["logs", entry.id.description])),
            LogText.operation(entry), LogText.result(entry), LogText.duration(entry),
            entry.kind == .operatorAction
                ? HTML([HTML("operator "), Part.code(entry.details?.attributes["operator"] ?? "")])
                : LogText.person(entry),
        ]
    }
}

extension DatabaseChoice {
    /// Returns the pseudonym by which the log knows a record of this database.
    func pseudonym(of record: ChosenRecord, _ request: PageRequest) -> UInt64 {
        request.cloud.serverEnvironment.recordPseudonyms.pseudonym(
            of: record.name, zone: record.zoneName, owner: user?.recordName ?? RecordPseudonyms.publicOwner)
    }
}
