import CloudKitHTTP
import CloudKitModel
import CloudKitSchema
import CloudKitServer

/// The query builder and the results of a query.
///
/// Values of filters are sent in the form, never in the address.
struct DataQueryPage: ConsolePage {
    let path = "containers/{container}/{environment}/data/query"
    let title = "Query"

    func show(_ request: PageRequest) async throws -> PageResponse {
        let database = try await DatabaseChoice(request)
        _ = try database.requiredCaller()
        let form = QueryForm(request.query)
        return try await page(form, database, request, results: HTML())
    }

    func submit(_ request: PageRequest) async throws -> PageResponse {
        let database = try await DatabaseChoice(request)
        let caller = try database.requiredCaller()
        let form = QueryForm(request.form)
        let type = try await type(form.recordType, in: database, request)
        let results: HTML
        do {
            let found = try await QueryRecords(request.cloud).run(
                try form.request(type), in: database.address, by: caller)
            results = self.results(found, form, type, database, request)
        } catch let failure as RequestFailure {
            results = HTML([
                Part.failure(failure, requestUUID: request.incoming.uuid),
                IndexButton.html(for: failure, type, database, request),
            ])
        }
        return try await page(form, database, request, results: results)
    }

    private func page(
        _ form: QueryForm, _ database: DatabaseChoice, _ request: PageRequest, results: HTML
    ) async throws -> PageResponse {
        let type = try await type(form.recordType, in: database, request)
        return .page(
            title: "Query \(form.recordType)",
            trail: [TrailLink("Data", try request.containerAddress("data"))]
                + (database.user == nil ? [] : [database.trail])
        ) {
            results
            Part.section("Query", id: "query") {
                request.postForm(to: database.page("data", "query"), label: "Query") {
                    database.hiddenField
                    Input.hidden("type", form.recordType)
                    Input.text("Zone", name: "zone", value: form.zoneName)
                    form.inputs(type)
                    Input.submit("Run")
                }
            }
        }
    }

    private func type(
        _ name: String, in database: DatabaseChoice, _ request: PageRequest
    ) async throws -> RecordTypeDefinition? {
        try await request.cloud.schema(database.place.container, database.place.environment)[name]
    }

    private func results(
        _ found: QueryPage, _ form: QueryForm, _ type: RecordTypeDefinition?, _ database: DatabaseChoice,
        _ request: PageRequest
    ) -> HTML {
        let columns = (type?.fields.keys.sorted() ?? []).prefix(Self.columnsMax)
        return HTML([
            Part.section("Results", id: "results") {
                Part.table(
                    caption: "\(found.records.count) \(found.records.count == 1 ? "record" : "records")"
                        + (found.continuationMarker == nil ? "" : ", and more"),
                    columns: ["Record"] + columns + ["Modified"],
                    rows: found.records.map { row($0, columns: Array(columns), in: database) },
                    empty: "No record matches.")
                found.failures.sorted { $0.key < $1.key }.map { name, failure in
                    Tag.p {
                        Part.name(name)
                        ": \(failure.reason)"
                    }
                }
                if let marker = found.continuationMarker {
                    request.postForm(to: database.page("data", "query"), label: "Next page") {
                        database.hiddenField
                        form.hiddenInputs(marker: marker)
                        Input.submit("Next page")
                    }
                }
            }
        ])
    }

    private func row(_ record: Record, columns: [String], in database: DatabaseChoice) -> [HTML] {
        let text = FieldText(
            database: database, recordName: record.id.recordName, zoneName: record.id.zoneID.zoneName)
        let fields = Dictionary(uniqueKeysWithValues: record.fields.map { ($0.name, $0) })
        return [
            Part.link(
                record.id.recordName,
                database.page(
                    "data", "record", query: ["zone": record.id.zoneID.zoneName, "name": record.id.recordName]))
        ] + columns.map { fields[$0].map { text.html($0, charactersMax: 80) } ?? HTML() } + [
            Part.time(record.modified.timestamp)
        ]
    }

    /// Fields of a type in the table of results; the record's own page has all.
    private static let columnsMax = 6
}

/// The button that adds the index which a query needs.
enum IndexButton {
    /// Returns the button, in development; nothing for other errors.
    static func html(
        for failure: RequestFailure, _ type: RecordTypeDefinition?, _ database: DatabaseChoice, _ request: PageRequest
    ) -> HTML {
        guard failure.code == .indexMissing, let type else { return HTML() }
        guard database.place.environment == .development else {
            return Tag.p("Add the index in development, and deploy the schema.")
        }
        let (key, index) = missing(failure)
        guard let address = try? request.containerAddress("data", "index") else { return HTML() }
        return request.postForm(to: address, label: "Missing index") {
            database.hiddenField
            Input.hidden("type", type.name)
            Input.hidden("key", key)
            Input.hidden("index", index)
            Tag.button(.type("submit"), .class("primary"), text: "Make \(key) \(index)")
        }
    }

    /// Returns the key and the index that an error names: "Field 'x' is not marked queryable".
    private static func missing(_ failure: RequestFailure) -> (key: String, index: String) {
        let parts = failure.reason.split(separator: "'", omittingEmptySubsequences: false)
        guard parts.count >= 3, let index = parts.last?.split(separator: " ").last else {
            return ("recordName", "queryable")
        }
        return (parts[1..<(parts.count - 1)].joined(separator: "'"), String(index))
    }
}

/// Adds an index in development.
struct IndexPage: ConsolePage {
    let path = "containers/{container}/{environment}/data/index"
    let title = "Index"

    func show(_ request: PageRequest) async throws -> PageResponse {
        .redirect(try request.containerAddress("data"), notice: nil)
    }

    func submit(_ request: PageRequest) async throws -> PageResponse {
        let database = try await DatabaseChoice(request)
        let place = database.place
        guard place.environment == .development else {
            throw RequestFailure(
                .accessDenied, "indexes are added in development", remedy: "Deploy the schema to production then.")
        }
        let schema = try await request.cloud.schema(place.container, place.environment)
        guard let name = request.form["type"], let type = schema[name], let keyName = request.form["key"],
            let index = Self.indexes[request.form["index"] ?? ""]
        else { throw RequestFailure(.badRequest, "there is no such type or index") }
        let system = QueryKey.SystemField.allCases.first { $0.rawValue == keyName || $0.schemaName == keyName }
        let key = system.map(QueryKey.system) ?? .field(keyName)
        let held = system.map { type.systemIndexes[$0] ?? [] } ?? type.fields[keyName]?.indexes ?? []
        try await request.order("schema/index", details: ["type": name, "key": keyName]) {
            try await SetIndex(request.cloud).run(
                held.union(index), on: key, ofType: name, in: place.container, place.environment, waits: false)
        }
        return .redirect(
            database.page("data", "query", query: ["type": name]),
            notice: "The index of \(keyName) is being built. Run the query again.")
    }

    private static let indexes: [String: FieldIndexes] = [
        "queryable": .queryable, "sortable": .sortable, "searchable": .searchable,
    ]
}
