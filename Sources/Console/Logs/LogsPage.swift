import CloudKitHTTP
import CloudKitLogs
import CloudKitModel

/// The log of requests: a filter, and the entries that meet it, the newest first.
struct LogsPage: ConsolePage {
    let store: any LogStore
    /// Whether it shows one container and environment alone.
    let isOfContainer: Bool

    var path: String { isOfContainer ? "containers/{container}/{environment}/logs" : "logs" }
    let title = "Logs"
    let navigation: String? = "Logs"

    /// Entries on a page.
    private static let entriesMax = 50

    func show(_ request: PageRequest) async throws -> PageResponse {
        var form = LogFilterForm()
        for field in LogFilterForm.Field.allCases { form.values[field] = request.query[field.rawValue] }
        form.kinds = request.query.all("kind")
        if let place = request.containerPath {
            form.values[.container] = place.container.name
            form.values[.environment] = place.environment.rawValue
        }
        var page = LogPage(items: [], next: nil)
        var problem: String?
        do throws(LogFilterForm.Problem) {
            let filter = try form.filter(now: request.cloud.serverEnvironment.now())
            page = try await entries(filter, before: request.query["before"].flatMap { Int64($0) })
        } catch {
            problem = error.description
        }
        let isOlder = request.query["before"] != nil
        return .page(status: problem == nil ? .ok : .badRequest) {
            filterForm(form, request)
            if let problem { Part.alert { Tag.p(problem) } }
            if !isOlder, problem == nil {
                Tag.p(.class("follow"), .isHidden(true), .data("data-follow", "log")) {
                    Tag.button(.type("button"), text: "Follow live")
                    Tag.span(.role("status"), .class("quiet"))
                }
            }
            Tag.div(.id("log")) {
                Part.table(
                    caption: isOlder ? "Older entries" : "The newest entries",
                    columns: ["Time", "Operation", "Result", "Duration", "Where", "User and device", "Sizes"],
                    rows: page.items.map { row($0.entry, request) },
                    empty: page.searchedTo == nil
                        ? "No entry meets the filter." : "No entry that was looked at meets the filter.")
            }
            if let time = page.searchedTo {
                Tag.p(
                    .role("status"),
                    text: "The search looked at all entries back to \(TimeText.text(time)), and can go on from there.")
            }
            Tag.p {
                if let next = page.next {
                    Part.link(
                        page.searchedTo == nil ? "Older entries" : "Search older entries",
                        address(form, request, before: String(next)))
                }
                if isOlder {
                    " "
                    Part.link("Newest entries", address(form, request, before: nil))
                }
            }
        }
    }

    /// - Throws: `Problem` for a log that cannot be read.
    private func entries(_ filter: LogFilter, before: Int64?) async throws(LogFilterForm.Problem) -> LogPage {
        do throws(LogStoreError) {
            return try await store.entries(filter, before: before, limit: Self.entriesMax)
        } catch {
            throw LogFilterForm.Problem(field: nil, description: error.reason)
        }
    }

    private func address(_ form: LogFilterForm, _ request: PageRequest, before: String?) -> Address {
        var query: [(name: String, value: String?)] = LogFilterForm.Field.allCases.compactMap { field in
            let isGiven = isOfContainer && (field == .container || field == .environment)
            return isGiven ? nil : (field.rawValue, form.values[field])
        }
        query += form.kinds.map { ("kind", $0.isEmpty ? nil : $0) }
        query.append(("before", before))
        return request.logAddress(["logs"], query: query)
    }

    private func filterForm(_ form: LogFilterForm, _ request: PageRequest) -> HTML {
        func text(_ label: String, _ field: LogFilterForm.Field, hint: String? = nil) -> HTML {
            Input.text(label, name: field.rawValue, value: form.values[field] ?? "", hint: hint, lengthMax: 255)
        }
        let kinds = [(value: "", text: "all")] + LogEntry.Kind.allCases.map { ($0.word, $0.word) }
        let rare: [LogFilterForm.Field] = [
            .database, .device, .zone, .recordType, .groupName, .group, .operationID, .slowerThan, .item, .named, .to,
            .id,
        ]
        return viewForm(request.logAddress(["logs"]), label: "Filter") {
            Input.choice("Kind", name: "kind", options: kinds, selected: form.kinds.first ?? "")
            text("Operation", .operation, hint: "such as records/modify")
            if !isOfContainer {
                text("Container", .container)
                Input.choice(
                    "Environment", name: "environment",
                    options: [("", "both"), ("development", "development"), ("production", "production")],
                    selected: form.values[.environment] ?? "")
            }
            text("User", .user, hint: "the record name in the container")
            text("Status", .status, hint: "404, or 4xx")
            text("Error", .code, hint: "such as conflict")
            text("From", .from, hint: "15m, 24h, 7d ago, or a time in UTC")
            text("Text", .text, hint: "a part of a name or reason")
            Input.check("Only errors", name: "failed", isChecked: form.values[.failed] != nil)
            Tag.details(.class("field wide"), .isOpen(rare.contains { form.values[$0] != nil })) {
                Tag.summary("More conditions")
                Tag.fieldset {
                    text("To", .to)
                    text("Database", .database, hint: "public, private or shared")
                    text("Zone", .zone)
                    text("Record type", .recordType)
                    text("Device", .device)
                    text("Operation group", .groupName)
                    text("Group's identifier", .group)
                    text("Operation's identifier", .operationID)
                    text("Slower than", .slowerThan, hint: "milliseconds")
                    text("Failed record", .item, hint: "its name")
                    text("Named record", .named, hint: "16 digits, by which the record's page leads here")
                    text("Request", .id, hint: "the beginning of its identifier")
                }
            }
            Input.submit("Show")
            Tag.div(.class("field buttons")) { Part.link("No filter", request.logAddress(["logs"])) }
        }
    }

    private func row(_ entry: LogEntry, _ request: PageRequest) -> [HTML] {
        [
            HTML([
                Part.link(TimeText.text(entry.time), request.logAddress(["logs", entry.id.description])),
                HTML(" "), entry.kind == .request ? HTML() : Part.mark(entry.kind.word),
            ]),
            LogText.operation(entry), LogText.result(entry), LogText.duration(entry),
            LogText.place(entry, withContainer: !isOfContainer), LogText.person(entry), LogText.sizes(entry),
        ]
    }
}

/// The parts of an entry on pages.
enum LogText {
    static func operation(_ entry: LogEntry) -> HTML {
        HTML([
            Part.code(entry.operation),
            entry.groupName.map { HTML([HTML(" in "), Part.name($0)]) } ?? HTML(),
        ])
    }

    static func result(_ entry: LogEntry) -> HTML {
        var parts: [HTML] = []
        if entry.status > 0 { parts.append(HTML("\(entry.status) ")) }
        if let code = entry.code { parts.append(Part.mark(code, entry.isThrottled ? .warn : .bad)) }
        if entry.itemsFailed > 0, entry.kind != .push {
            parts.append(HTML(" \(entry.itemsFailed) of \(max(entry.itemsIn, entry.itemsFailed))"))
        }
        if entry.retryAfter > 0 { parts.append(HTML(" wait \(entry.retryAfter) s")) }
        return parts.isEmpty ? Part.mark("done", .good) : HTML(parts)
    }

    static func duration(_ entry: LogEntry) -> HTML {
        entry.kind == .push || entry.status == 0 ? HTML() : HTML(milliseconds(Double(entry.microseconds) / 1000))
    }

    /// Returns a duration with two digits that count.
    static func milliseconds(_ value: Double) -> String {
        if value >= 10_000 { return "\((value / 100).rounded() / 10) s" }
        return value >= 10 ? "\(Int(value.rounded())) ms" : "\((value * 10).rounded() / 10) ms"
    }

    static func place(_ entry: LogEntry, withContainer: Bool) -> HTML {
        var words: [String?] = withContainer ? [entry.container, entry.environment] : []
        words += [entry.database, entry.zone, entry.recordType]
        return names(words)
    }

    static func person(_ entry: LogEntry) -> HTML { names([entry.user, entry.device]) }

    private static func names(_ words: [String?]) -> HTML {
        let known = words.compactMap { $0 }
        return HTML(known.enumerated().flatMap { index, word in [HTML(index > 0 ? " · " : ""), Part.name(word)] })
    }

    static func sizes(_ entry: LogEntry) -> HTML {
        if entry.kind == .push {
            let counts = [("decided", entry.itemsIn), ("sent", entry.itemsOut), ("dropped", entry.itemsFailed)]
            return HTML(counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }.joined(separator: ", "))
        }
        guard entry.status > 0 else { return HTML() }
        return HTML([Part.bytes(entry.bytesIn), HTML(" in, "), Part.bytes(entry.bytesOut), HTML(" out")])
    }
}
