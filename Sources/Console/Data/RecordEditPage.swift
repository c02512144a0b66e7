import CloudKitHTTP
import CloudKitModel
import CloudKitSchema
import CloudKitServer
import CloudKitWire
import JSONBytes

/// Changes a record, or creates one.
struct RecordEditPage: ConsolePage {
    let path = "containers/{container}/{environment}/data/edit"
    let title = "Edit"
    let formBytesMax = 4 * 1024 * 1024

    func show(_ request: PageRequest) async throws -> PageResponse {
        let database = try await DatabaseChoice(request)
        try database.checkChanges()
        let address = ChosenRecord(request.query)
        let record = address.name.isEmpty ? nil : try await address.record(database, request.cloud)
        return try await page(
            RecordForm(record: record, recordType: request.query["type"]), address, record, failure: nil, database,
            request)
    }

    func submit(_ request: PageRequest) async throws -> PageResponse {
        let database = try await DatabaseChoice(request)
        try database.checkChanges()
        let caller = try database.requiredCaller()
        let address = ChosenRecord(request.form)
        let tag = request.form["tag"]
        let record = tag == nil ? nil : try await address.record(database, request.cloud)
        let form = RecordForm(request.form)
        do {
            let body = try form.body(name: address.name, zoneName: address.zoneName, tag: tag, record: record)
            let saved = try await request.order(
                "data/save", details: database.details(["zone": address.zoneName, "record": address.name]),
                records: address.name.isEmpty ? [] : [database.pseudonym(of: address, request)]
            ) {
                let outcome = try await ModifyRecords(request.cloud).run(
                    try ModifyRecordsRequest(wire: body, limits: .web), in: database.address, by: caller
                ).first
                switch outcome {
                case .record(let record)?: return record
                case .failed(_, let failure)?: throw failure
                case .deleted?, nil: throw RequestFailure(.internalError, "internal error")
                }
            }
            return .redirect(
                database.page(
                    "data", "record", query: ["zone": address.zoneName, "name": saved.id.recordName]),
                notice: "The record is saved.")
        } catch let failure as RequestFailure {
            return try await page(form, address, record, failure: failure, database, request)
        }
    }

    private func page(
        _ form: RecordForm, _ address: ChosenRecord, _ record: Record?, failure: RequestFailure?,
        _ database: DatabaseChoice, _ request: PageRequest
    ) async throws -> PageResponse {
        let schema = try await request.cloud.schema(database.place.container, database.place.environment)
        return .page(
            title: record == nil ? "Create a record" : "Edit \(address.name)",
            trail: [TrailLink("Data", try request.containerAddress("data")), database.trail],
            status: failure == nil ? .ok : .init(code: failure?.code.httpStatus ?? 400)
        ) {
            failure.map { Part.failure($0, requestUUID: request.incoming.uuid) }
            request.postForm(to: database.page("data", "edit"), label: "Record") {
                database.hiddenField
                if let record {
                    address.hiddenFields
                    // The tag of the form that was filled in: a save since then is a conflict.
                    Input.hidden("tag", request.form["tag"] ?? record.changeTag.value)
                    Input.hidden("type", record.recordType)
                } else {
                    Input.text(
                        "Record type", name: "type", value: form.recordType,
                        suggestions: schema.types.keys.sorted(), isRequired: true)
                    Input.text("Record name", name: "name", value: address.name, hint: "Empty: a new one is made")
                    Input.text("Zone", name: "zone", value: address.zoneName)
                }
                form.inputs(schema[form.recordType])
                Input.submit(record == nil ? "Create" : "Save")
            }
        }
    }
}

/// The fields of a record as the form has them.
struct RecordForm {
    /// A field of the record.
    struct Row {
        var name = ""
        var type = FieldType.string
        var value = ""
        var isRemoved = false
    }

    var recordType: String
    var rows: [Row]
    /// The names of fields that forms cannot change.
    var fixedNames: [String]

    static let rowsMax = 256
    private static let newRows = 3

    /// Creates the form of a record, or of a new one.
    init(record: Record?, recordType: String?) {
        self.recordType = record?.recordType ?? recordType ?? ""
        let fields = record?.fields ?? []
        rows = fields.filter { FieldInput.canEdit($0.type) }.map {
            Row(name: $0.name, type: $0.type, value: FieldInput.text($0))
        }
        fixedNames = fields.filter { !FieldInput.canEdit($0.type) }.map(\.name)
    }

    /// Reads a form that was sent.
    init(_ fields: FormFields) {
        recordType = fields["type"] ?? ""
        rows = (0..<Self.rowsMax).compactMap { number in
            guard let name = fields["field-name-\(number)"] else { return nil }
            return Row(
                name: name, type: fields["field-type-\(number)"].flatMap { FieldType(word: $0) } ?? .string,
                value: fields.exact("field-value-\(number)") ?? "", isRemoved: fields.has("field-removed-\(number)"))
        }
        fixedNames = []
    }

    /// Returns the body of `records/modify`: only fields that changed are sent.
    ///
    /// - Parameters:
    ///   - tag: The change tag of the form; nil for a new record.
    ///   - record: The record as it is now; nil for a new one.
    /// - Throws: `badRequest` for a text that is no value of its type.
    func body(name: String, zoneName: String, tag: String?, record: Record?) throws(RequestFailure) -> [UInt8] {
        let held = Dictionary(uniqueKeysWithValues: record?.fields.map { ($0.name, $0) } ?? [])
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("zoneID")
        writer.object { writer in
            writer.key("zoneName")
            writer.string(zoneName)
        }
        writer.key("operations")
        writer.beginArray()
        writer.beginObject()
        writer.key("operationType")
        writer.string(tag == nil ? "create" : "update")
        writer.key("record")
        writer.beginObject()
        if !name.isEmpty {
            writer.key("recordName")
            writer.string(name)
        }
        writer.key("recordType")
        writer.string(recordType)
        if let tag {
            writer.key("recordChangeTag")
            writer.string(tag)
        }
        writer.key("fields")
        writer.beginObject()
        for row in rows {
            if row.isRemoved {
                writer.key(row.name)
                writer.null()
                continue
            }
            if let field = held[row.name], field.type == row.type, FieldInput.text(field) == row.value { continue }
            let json = try FieldInput.json(row.value, type: row.type, name: row.name)
            writer.key(row.name)
            writer.object { writer in
                writer.key("value")
                writer.raw(json)
                writer.key("type")
                writer.string(row.type.description)
            }
        }
        writer.endObject()
        writer.endObject()
        writer.endObject()
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    /// Returns the inputs, with some for new fields.
    func inputs(_ type: RecordTypeDefinition?) -> HTML {
        let known = (type?.fields ?? [:]).filter { FieldInput.canEdit($0.value.type) }.sorted { $0.key < $1.key }
        var rows = rows
        // A field of the type that the record lacks is at hand; an empty one is not sent.
        let missing = known.filter { name, _ in !rows.contains { $0.name == name } }
        let first = rows.count
        rows += missing.prefix(Self.rowsMax / 2).map { Row(name: "", type: $0.value.type) }
        let suggested = missing.map(\.key)
        rows += Array(repeating: Row(), count: max(0, Self.newRows - missing.count))
        return HTML([
            HTML(
                rows.enumerated().map { number, row in
                    let isNew = number >= first
                    let suggestion = isNew && number - first < suggested.count ? suggested[number - first] : nil
                    return self.row(row, number, isNew: isNew, suggestion: suggestion)
                }),
            fixedNames.isEmpty
                ? HTML()
                : Tag.p(.class("quiet")) {
                    "Not changed here, because they are sealed or files: "
                    Part.name(fixedNames.joined(separator: ", "))
                },
        ])
    }

    private func row(_ row: Row, _ number: Int, isNew: Bool, suggestion: String?) -> HTML {
        Tag.fieldset {
            Tag.legend {
                isNew ? HTML(suggestion.map { "Add \($0)" } ?? "New field") : Part.name(row.name)
            }
            if isNew {
                Input.text(
                    "Name", name: "field-name-\(number)",
                    hint: suggestion.map { "Write \($0) to set it" },
                    suggestions: suggestion.map { [$0] } ?? [])
                Input.choice(
                    "Type", name: "field-type-\(number)",
                    options: FieldInput.types.map { ($0.description, $0.description) },
                    selected: row.type.description)
            } else {
                Input.hidden("field-name-\(number)", row.name)
                Input.hidden("field-type-\(number)", row.type.description)
            }
            Input.lines(
                isNew ? "Value" : row.type.description, name: "field-value-\(number)", value: row.value,
                hint: row.type == .string ? nil : FieldInput.hint(for: row.type),
                rows: min(10, max(1, row.value.count(where: \.isNewline) + 1)))
            if !isNew { Input.check("Remove the field", name: "field-removed-\(number)", isChecked: row.isRemoved) }
        }
    }
}
