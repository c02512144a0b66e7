import ArgumentParser
import CloudKitHTTP
import CloudKitLogs
import CloudKitLogsSQLite
import CloudKitModel
import CloudKitServer
import Foundation

/// Shows the log of requests.
struct LogsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logs", abstract: "Show the log of requests, pushes, sign-ins, faults and operators' actions.",
        discussion: """
            Works beside a running cloud. With --request it explains one request: the rule behind each failure, the record, the line of the \
            schema and the remedy. An app sees the identifier of its request in a CKError, as "uuid = …". See docs/logs.md.
            """)

    @OptionGroup var folder: DataOptions
    @OptionGroup(title: "Filter") var filter: LogFilterOptions
    @Option(help: ArgumentHelp("Explain the request with this identifier.", valueName: "id")) var request: String?
    @Option(
        help: ArgumentHelp(
            "The requests and orders that named this record; with --container, --environment, and --zone unless it is the default one.",
            valueName: "record"))
    var history: String?
    @Option(
        help: ArgumentHelp(
            "With --history: the user record name of the zone's owner; omitted for the public database.",
            valueName: "user"))
    var owner: String?
    @Flag(name: .shortAndLong, help: "Go on with entries as they come.") var follow = false
    @Option(name: .shortAndLong, help: "The number of entries.") var limit: Int = 50
    @Flag(help: "Print a JSON object for each entry.") var json = false

    func validate() throws {
        guard (1...100_000).contains(limit) else { throw ValidationError("--limit is 1 to 100000.") }
        if let request, LogID(request) == nil {
            throw ValidationError("--request is the identifier of a request, a UUID; for a part of one use --id.")
        }
        guard history == nil || filter.container != nil else { throw ValidationError("--history needs --container.") }
        guard owner == nil || history != nil else { throw ValidationError("--owner goes with --history.") }
    }

    func run() async throws {
        try await DataFolder.with(folder) { folder in
            let store: SQLiteLogStore
            do throws(LogStoreError) {
                store = try SQLiteLogStore(reading: folder.logPath)
            } catch {
                throw CommandFailure(error.code == .missing ? "there is no log yet in \(folder.path)" : error.reason)
            }
            if let request, let id = LogID(request) {
                guard let entry = try await store.entry(id) else {
                    throw CommandFailure("the log has no request \(request), or no longer")
                }
                return try await explain(entry, in: folder)
            }
            let wanted = try wantedEntries(in: folder)
            let last = try await printNewest(wanted, store)
            if follow { try await printFollowing(wanted, store, after: last) }
        }
    }

    /// Returns the filter, with the pseudonym of the record whose history is wanted.
    private func wantedEntries(in folder: DataFolder) throws -> LogFilter {
        var wanted = try filter.filter()
        guard let history else { return wanted }
        wanted.record = folder.serverEnvironment.recordPseudonyms.pseudonym(
            of: history, zone: filter.zone ?? ZoneID.defaultZoneName, owner: owner ?? RecordPseudonyms.publicOwner)
        // Orders have no zone.
        wanted.zone = nil
        return wanted
    }

    /// Prints the newest entries, the oldest of them first.
    ///
    /// - Returns: The number of the newest entry.
    private func printNewest(_ filter: LogFilter, _ store: SQLiteLogStore) async throws -> Int64 {
        var items: [LogPage.Item] = []
        var before: Int64?
        while items.count < limit {
            let page = try await store.entries(filter, before: before, limit: min(limit - items.count, 1000))
            items += page.items
            guard let next = page.next else { break }
            before = next
        }
        for item in items.reversed() { try show(item.entry) }
        return try await store.entries(LogFilter(), before: nil, limit: 1).items.first?.number ?? -1
    }

    private func printFollowing(_ filter: LogFilter, _ store: SQLiteLogStore, after last: Int64) async throws {
        var last = last
        while !Task.isCancelled {
            try await Task.sleep(for: .milliseconds(500))
            let page = try await store.entries(filter, after: last, limit: 1000)
            for item in page.items { try show(item.entry) }
            last = page.next ?? last
        }
    }

    private func show(_ entry: LogEntry) throws {
        guard json else { return Output.result(LogLine.text(of: entry)) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        Output.result(String(decoding: try encoder.encode(LogLine(entry)), as: UTF8.self))
    }

    private func explain(_ entry: LogEntry, in folder: DataFolder) async throws {
        if json { return try show(entry) }
        Output.result(LogLine.text(of: entry))
        var schema: String?
        if let container = entry.container, let word = entry.environment,
            let environment = CloudKitModel.Environment(rawValue: word)
        {
            schema = try? await ExportSchema(folder.cloud).run(of: ContainerID(container), environment)
        }
        for failure in entry.details?.failures ?? [] {
            let explained = FailureExplanation(failure, schema: schema)
            Output.result("")
            let rows: [(String, String?)] = [
                ("record", failure.item), ("type", failure.recordType), ("code", failure.code),
                ("reason", failure.reason),
                ("rule", "\(explained.rule): \(explained.meaning)"),
                ("schema", explained.schemaLine.map { "line \($0.number): \($0.text)" }), ("remedy", explained.remedy),
            ]
            Output.table(rows.compactMap { name, value in value.map { [name, $0] } })
        }
        for (name, value) in (entry.details?.attributes ?? [:]).sorted(by: { $0.key < $1.key }) {
            Output.result("\(name)  \(value)")
        }
    }
}

/// The conditions of a filter as options.
struct LogFilterOptions: ParsableArguments {
    @Option(help: "From this time on: 2026-11-21T03:40:00Z, or 90s, 15m, 24h, 7d ago.") var from: String?
    @Option(help: "Before this time, in the same forms.") var to: String?
    @Option(parsing: .singleValue, help: "request, push, sign-in, fault or operator; may be repeated.")
    var kind: [String] = []
    @Option(help: "The container.") var container: String?
    @Option(help: "development or production.") var environment: String?
    @Option(help: "public, private or shared.") var database: String?
    @Option(help: "The user's record name in the container.") var user: String?
    @Option(help: "The device as records of the container show it.") var device: String?
    @Option(help: "The name of the zone.") var zone: String?
    @Option(name: .customLong("type"), help: "The record type.") var recordType: String?
    @Option(help: "The endpoint, such as records/modify.") var operation: String?
    @Option(name: .customLong("operation-id"), help: "The identifier of the app's operation.") var operationID: String?
    @Option(name: .customLong("group-id"), help: "The identifier of the operation group.") var group: String?
    @Option(name: .customLong("group"), help: "The name of the operation group.") var groupName: String?
    @Option(help: "The HTTP status, such as 404, or 4xx.") var status: String?
    @Option(help: "The code of the error, such as conflict.") var code: String?
    @Flag(help: "Only entries with an error.") var failed = false
    @Option(name: .customLong("slower-than"), help: ArgumentHelp("Milliseconds.", valueName: "ms")) var slowerThan: Int?
    @Option(name: .customLong("id"), help: "The beginning of the request's identifier.") var idPrefix: String?
    @Option(name: .customLong("record"), help: "The name of a record, zone or subscription that failed.") var item:
        String?
    @Option(help: "A part of the operation, container, zone, type, code, group or reason.") var text: String?

    /// Returns the filter.
    ///
    /// - Throws: `ValidationError`.
    func filter(now: Date = Date()) throws -> LogFilter {
        var form = LogFilterForm()
        form.values = [
            .from: from, .to: to, .container: container, .environment: environment, .database: database, .user: user,
            .device: device, .zone: zone, .recordType: recordType, .operation: operation, .operationID: operationID,
            .group: group, .groupName: groupName, .status: status, .code: code, .id: idPrefix, .item: item,
            .text: text, .slowerThan: slowerThan.map { String($0) }, .failed: failed ? "1" : nil,
        ].compactMapValues { $0 }
        form.kinds = kind
        do throws(LogFilterForm.Problem) {
            return try form.filter(now: Int64(now.timeIntervalSince1970 * 1000))
        } catch {
            throw ValidationError(error.description)
        }
    }
}
