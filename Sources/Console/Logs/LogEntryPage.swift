import CloudKitHTTP
import CloudKitLogs
import CloudKitModel
import CloudKitServer

/// One entry of the log: for each failure the rule behind it, the record, the line of the schema and the remedy.
struct LogEntryPage: ConsolePage {
    let store: any LogStore
    /// Whether it shows entries of one container and environment alone.
    let isOfContainer: Bool

    var path: String { isOfContainer ? "containers/{container}/{environment}/logs/{id}" : "logs/{id}" }
    let title = "Request"

    func show(_ request: PageRequest) async throws -> PageResponse {
        guard let id = request.parameters["id"].flatMap({ LogID($0) }), let entry = try await store.entry(id),
            isVisible(entry, request)
        else {
            return .page(title: "No such request", trail: trail(request), status: .notFound) {
                Tag.p("The log has no such request, or no longer: it keeps a bounded number of entries for some weeks.")
            }
        }
        let schema = await schema(of: entry, request)
        return .page(trail: trail(request)) {
            Part.facts(facts(of: entry, request))
            for (number, failure) in (entry.details?.failures ?? []).enumerated() {
                Part.section(
                    failure.item.map { "Failed: \($0)" } ?? "Why it failed", id: "failure-\(number)"
                ) {
                    Part.facts(facts(of: failure, schema))
                }
            }
            if let attributes = entry.details?.attributes, !attributes.isEmpty {
                Part.section("Details", id: "details") {
                    Part.facts(attributes.sorted { $0.key < $1.key }.map { ($0.key, Part.code($0.value)) })
                }
            }
        }
    }

    private func isVisible(_ entry: LogEntry, _ request: PageRequest) -> Bool {
        guard let place = request.containerPath else { return true }
        return entry.container == place.container.name && entry.environment == place.environment.rawValue
    }

    private func trail(_ request: PageRequest) -> [TrailLink] { [TrailLink("Logs", request.logAddress(["logs"]))] }

    /// Returns the schema as text; nil where there is none.
    private func schema(of entry: LogEntry, _ request: PageRequest) async -> String? {
        guard let failures = entry.details?.failures, !failures.isEmpty, let container = entry.container,
            let environment = entry.environment.flatMap({ Environment(rawValue: $0) })
        else { return nil }
        return try? await ExportSchema(request.cloud).run(of: ContainerID(container), environment)
    }

    private func facts(of entry: LogEntry, _ request: PageRequest) -> [(name: String, value: HTML)] {
        func filtered(_ text: String, _ field: LogFilterForm.Field) -> HTML {
            Part.link(text, request.logAddress(["logs"], query: [(field.rawValue, text)]))
        }
        let all: [(name: String, value: HTML?)] = [
            ("Request", Part.code(entry.id.description)), ("Time", Part.time(entry.time)),
            ("Kind", Part.mark(entry.kind.word)), ("Operation", filtered(entry.operation, .operation)),
            ("Result", LogText.result(entry)),
            ("Duration", entry.status > 0 ? LogText.duration(entry) : nil),
            ("Container", entry.container.map { Part.name($0) }),
            ("Environment", entry.environment.map { Part.mark($0) }),
            ("Database", entry.database.map { HTML($0) }), ("Zone", entry.zone.map { filtered($0, .zone) }),
            ("Record type", entry.recordType.map { filtered($0, .recordType) }),
            ("User", entry.user.map { filtered($0, .user) }), ("Device", entry.device.map { filtered($0, .device) }),
            ("Client", entry.client.map { HTML($0 == "sdk" ? "framework" : "web services") }),
            ("Operation's identifier", entry.operationID.map { filtered($0.description, .operationID) }),
            ("Operation group", entry.groupName.map { filtered($0, .groupName) }),
            ("Group's identifier", entry.group.map { filtered($0.description, .group) }),
            ("Items", items(of: entry)),
            ("Sizes", entry.status > 0 || entry.kind == .push ? LogText.sizes(entry) : nil),
            ("Asked to wait", entry.retryAfter > 0 ? HTML("\(entry.retryAfter) seconds") : nil),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }

    private func items(of entry: LogEntry) -> HTML? {
        guard entry.kind != .push, entry.itemsIn + entry.itemsOut > 0 else { return nil }
        return HTML("\(entry.itemsIn) in the request, \(entry.itemsOut) in the answer, \(entry.itemsFailed) failed")
    }

    private func facts(of failure: LogFailure, _ schema: String?) -> [(name: String, value: HTML)] {
        let explained = FailureExplanation(failure, schema: schema)
        let all: [(name: String, value: HTML?)] = [
            ("Rule", HTML([Part.code(explained.rule), HTML(" " + explained.meaning)])),
            ("Record", failure.item.map { Part.code($0) }), ("Record type", failure.recordType.map { Part.name($0) }),
            ("Error", HTML([Part.mark(failure.code, .bad), HTML(" "), Part.name(failure.reason)])),
            (
                "Schema",
                explained.schemaLine.map { HTML([HTML("line \($0.number): "), Part.code($0.text)]) }
                    ?? (failure.recordType == nil || schema == nil ? nil : HTML("has no such type"))
            ),
            ("Remedy", Tag.strong(explained.remedy)),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }
}
