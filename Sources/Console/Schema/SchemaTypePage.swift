import CloudKitHTTP
import CloudKitModel
import CloudKitSchema
import CloudKitServer

/// A record type: its fields with their indexes, and the grants to roles.
struct SchemaTypePage: FormPage {
    let path = "containers/{container}/{environment}/schema/types/{type}"
    let title = "Record type"

    private static let ofTheSystem = [RecordTypeDefinition.users, .shares]

    func carryOut(_ request: PageRequest) async throws -> PageResponse {
        let name = request.parameters["type"] ?? ""
        let place = try request.developmentPlace
        guard let type = try await request.cloud.schema(place.container, place.environment)[name] else {
            throw RequestFailure.endpointNotFound
        }
        let here = try request.containerAddress("schema", "types", name)
        switch request.form[SentForm.idField] {
        case "add-field": return .redirect(here, notice: try await addField(to: type, request))
        case "indexes": return .redirect(here, notice: try await setIndexes(of: type, request))
        case "grants": return .redirect(here, notice: try await setGrants(of: type, request))
        default: throw RequestFailure(.badRequest, "the form is not one of this page")
        }
    }

    // MARK: Orders

    private func addField(to type: RecordTypeDefinition, _ request: PageRequest) async throws -> String {
        let name = request.form["name"] ?? ""
        guard let word = request.form["type"], let base = FieldType.choices.first(where: { $0.schemaWord == word })
        else { throw FormProblem("type", "choose a type") }
        let fieldType = request.form.has("list") ? base.list : base
        var indexes: FieldIndexes = []
        for word in request.form.all("index") { indexes.formUnion(try IndexKind.index(word)) }
        guard indexes.isSubset(of: fieldType.indexesMax) else {
            let allowed = fieldType.indexesMax.words
            throw FormProblem(
                "index", "a field of the type \(fieldType.schemaWord) cannot have this index",
                remedy: allowed.isEmpty ? "It has none." : "It can have: \(allowed.joined(separator: ", ")).")
        }
        try await request.edit(
            .addField(name, of: type.name, FieldDefinition(type: fieldType, indexes: indexes)),
            details: ["recordType": type.name, "field": name], field: "name")
        return "Field \(name) is added, as \(fieldType.schemaWord)."
    }

    private func setIndexes(of type: RecordTypeDefinition, _ request: PageRequest) async throws -> String {
        let chosen = Set(request.form.all("index"))
        var changes: [(key: QueryKey, name: String, indexes: FieldIndexes)] = []
        for row in IndexRow.rows(of: type) where request.form.all("field").contains(row.name) {
            let wanted = IndexKind.all.filter { chosen.contains("\(row.name) \($0.word)") }
                .reduce(into: FieldIndexes()) { $0.formUnion($1.index) }
            guard wanted.isSubset(of: row.indexesMax) else {
                throw FormProblem(nil, "field \(row.name) cannot have this index")
            }
            if wanted != row.indexes { changes.append((row.key, row.name, wanted)) }
        }
        let place = try request.developmentPlace
        for change in changes {
            try await request.order("schema/index", details: ["recordType": type.name, "field": change.name]) {
                try await SetIndex(request.cloud).run(
                    change.indexes, on: change.key, ofType: type.name, in: place.container, place.environment,
                    waits: false)
            }
        }
        if changes.isEmpty { return "No index has changed." }
        return "Indexes of \(changes.map(\.name).joined(separator: ", ")) are set. "
            + "Queries use a new index as soon as it covers all records."
    }

    private func setGrants(of type: RecordTypeDefinition, _ request: PageRequest) async throws -> String {
        let place = try request.developmentPlace
        let roles = try await request.cloud.schema(place.container, place.environment).roles.union(Grant.systemRoles)
        let chosen = Set(request.form.all("grant"))
        let grants = roles.flatMap { role in
            Grant.Privilege.allCases.filter { chosen.contains("\($0.rawValue) \(role)") }.map { Grant($0, to: role) }
        }
        try await request.order("schema/grants", details: ["recordType": type.name]) {
            try await SetGrants(request.cloud).run(
                Set(grants), ofType: type.name, in: place.container, place.environment)
        }
        return "The grants of \(type.name) are set."
    }

    // MARK: Parts

    func page(_ request: PageRequest, _ problem: FormProblem?) async throws -> PageResponse {
        let place = try request.place
        let schema = try await request.cloud.schema(place.container, place.environment)
        guard let type = schema[request.parameters["type"] ?? ""] else { throw RequestFailure.endpointNotFound }
        let isEditable = place.environment == .development
        let production = try await request.cloud.schema(place.container, .production)
        let deployed = production.implicitTypes.contains(type.name) ? nil : production[type.name]
        let progress = request.cloud.indexBuilds.progress(of: place.container, place.environment)
        let isOfSystem = Self.ofTheSystem.contains { $0.name == type.name }
        let here = try request.containerAddress("schema", "types", type.name)
        let removeType = try request.containerAddress("schema", "remove", query: ["type": type.name])
        let rows = try fieldRows(of: type, deployed: deployed, isEditable: isEditable, request)
        var columns = ["Field", "Type"] + IndexKind.all.map(\.title)
        if isEditable { columns.append("Remove") }
        let table = Part.table(caption: "Fields and indexes of \(type.name)", columns: columns, rows: rows)
        return .page(
            title: type.name, trail: [TrailLink("Schema", try request.containerAddress("schema"))]
        ) {
            progress.map { Self.progressText($0) }
            Part.section("Fields", id: "fields") {
                if isEditable {
                    SentForm("indexes", of: request, problem).html(request, to: here, label: "Indexes") {
                        Tag.div(.class("field wide")) { table }
                        Input.submit("Set indexes")
                    }
                } else {
                    table
                }
            }
            if isEditable {
                Part.section("Add a field", id: "add") {
                    Self.addForm(SentForm("add-field", of: request, problem), to: here, request)
                }
            }
            Part.section("Grants", id: "grants") {
                Tag.p(.class("quiet"), text: "What roles may do with records of this type in the public database.")
                Self.grants(
                    of: type, roles: schema.roles, isEditable: isEditable, SentForm("grants", of: request, problem),
                    to: here, request)
            }
            if isEditable, !isOfSystem {
                Part.section("Remove the record type", id: "remove") {
                    if deployed == nil {
                        Tag.p { Part.link("Remove \(type.name)…", removeType) }
                    } else {
                        Tag.p(.class("quiet"), text: "The record type is in production and cannot be removed.")
                    }
                }
            }
        }
    }

    static func progressText(_ progress: IndexBuildProgress) -> HTML {
        Part.status(
            "Building indexes: \(progress.databasesDone) of \(progress.databases) databases, "
                + "\(progress.records) records. Load the page again to see how far it is.")
    }

    private func fieldRows(
        of type: RecordTypeDefinition, deployed: RecordTypeDefinition?, isEditable: Bool, _ request: PageRequest
    ) throws -> [[HTML]] {
        let isOfSystem = Self.ofTheSystem.first { $0.name == type.name }
        return try IndexRow.rows(of: type).map { row in
            var cells = [Part.name(row.name), row.typeText]
            cells += IndexKind.all.map { Self.indexCell($0, row, isEditable: isEditable) }
            guard isEditable else { return cells }
            if row.isSystem || isOfSystem?.fields[row.name] != nil {
                cells.append(HTML())
            } else if deployed?.fields[row.name] != nil {
                cells.append(Part.mark("in production"))
            } else {
                cells.append(
                    Part.link(
                        "Remove \(row.name)",
                        try request.containerAddress("schema", "remove", query: ["type": type.name, "field": row.name])
                    ))
            }
            return cells
        }
    }

    private static func indexCell(_ kind: IndexKind, _ row: IndexRow, isEditable: Bool) -> HTML {
        guard row.indexesMax.contains(kind.index) else { return Tag.span(.class("quiet"), text: "–") }
        let isOn = row.indexes.contains(kind.index)
        let building = isOn && row.building.contains(kind.index) ? Part.mark("building", .warn) : HTML()
        guard isEditable else { return HTML([HTML(isOn ? "yes" : "no"), HTML(" "), building]) }
        return HTML([
            kind == IndexKind.all.first(where: { row.indexesMax.contains($0.index) })
                ? Input.hidden("field", row.name) : HTML(),
            Tag.input(
                .type("checkbox"), .name("index"), .value("\(row.name) \(kind.word)"), .isChecked(isOn),
                .label("\(row.name): \(kind.title)")), HTML(" "), building,
        ])
    }

    private static func addForm(_ form: SentForm, to address: Address, _ request: PageRequest) -> HTML {
        form.html(request, to: address) {
            form.text("Name", name: "name", isRequired: true, lengthMax: 255)
            form.choice(
                "Type", name: "type", options: FieldType.choices.map { ($0.schemaWord, FieldTypeText.text($0)) },
                selected: FieldType.string.schemaWord,
                hint: "Devices seal the values of encrypted fields; the cloud cannot read or index them.")
            form.check("A list of such values", name: "list")
            Tag.fieldset {
                Tag.legend("Indexes")
                IndexKind.all.map { form.check($0.title, name: "index", value: $0.word) }
            }
            Input.submit("Add field")
        }
    }

    private static func grants(
        of type: RecordTypeDefinition, roles: Set<String>, isEditable: Bool, _ form: SentForm, to address: Address,
        _ request: PageRequest
    ) -> HTML {
        let all = [Grant.world, Grant.signedIn, Grant.creator] + roles.sorted()
        let rows = all.map { role in
            [Part.name(role)]
                + Grant.Privilege.allCases.map { privilege in
                    let isOn = type.grants.contains(Grant(privilege, to: role))
                    guard isEditable else { return HTML(isOn ? "yes" : "no") }
                    return Tag.input(
                        .type("checkbox"), .name("grant"), .value("\(privilege.rawValue) \(role)"), .isChecked(isOn),
                        .label("\(role): \(privilege.rawValue.lowercased())"))
                }
        }
        let table = Part.table(
            caption: "Grants of \(type.name)", columns: ["Role", "Read", "Create", "Write"], rows: rows)
        guard isEditable else { return table }
        return form.html(request, to: address, label: "Grants") {
            Tag.div(.class("field wide")) { table }
            Input.submit("Set grants")
        }
    }
}

/// A field of a record type, or a system field, with its indexes.
struct IndexRow {
    /// The field, or the system field by its name in schemas.
    var name: String
    /// The key in queries.
    var key: QueryKey
    /// Its type in words.
    var typeText: HTML
    /// The indexes it has.
    var indexes: FieldIndexes
    /// Those of them that do not cover all records yet.
    var building: FieldIndexes
    /// Every index it can have.
    var indexesMax: FieldIndexes
    /// Whether it is a system field.
    var isSystem: Bool

    /// Returns the fields of a type, then the system fields.
    static func rows(of type: RecordTypeDefinition) -> [IndexRow] {
        let own = type.fields.sorted { $0.key < $1.key }.map { name, field in
            IndexRow(
                name: name, key: .field(name), typeText: FieldTypeText.html(field.type), indexes: field.indexes,
                building: field.building, indexesMax: field.type.indexesMax, isSystem: false)
        }
        let system = QueryKey.SystemField.allCases.sorted { $0.schemaName < $1.schemaName }.map { field in
            IndexRow(
                name: field.schemaName, key: .system(field), typeText: Part.mark("system field"),
                indexes: type.systemIndexes[field] ?? [], building: type.systemBuilding[field] ?? [],
                indexesMax: field.indexesMax, isSystem: true)
        }
        return own + system
    }
}

/// A kind of index, with its words.
struct IndexKind: Hashable {
    /// The index.
    var index: FieldIndexes
    /// The word of the schema language.
    var word: String
    /// The word on pages.
    var title: String

    /// Every kind.
    static let all = [
        IndexKind(index: .queryable, word: "QUERYABLE", title: "Queryable"),
        IndexKind(index: .sortable, word: "SORTABLE", title: "Sortable"),
        IndexKind(index: .searchable, word: "SEARCHABLE", title: "Searchable"),
    ]

    /// Returns the index of a word.
    ///
    /// - Throws: `FormProblem` for another word.
    static func index(_ word: String) throws -> FieldIndexes {
        guard let kind = all.first(where: { $0.word == word }) else {
            throw FormProblem("index", "there is no such index")
        }
        return kind.index
    }
}

/// The types of fields in words, as the introduction to CloudKit names them.
enum FieldTypeText {
    /// Returns a type in words, such as "Encrypted String".
    static func text(_ type: FieldType) -> String {
        let base =
            switch type.base {
            case .string, .unknown: "String"
            case .int64: "Int(64)"
            case .double: "Double"
            case .timestamp: "Date/Time"
            case .bytes: "Bytes"
            case .location: "Location"
            case .reference: "Reference"
            case .asset: "Asset"
            }
        let word = type.isEncrypted ? "Encrypted \(base)" : base
        return type.isList ? "List of \(word)" : word
    }

    /// Returns a type in words with a mark for encrypted ones.
    static func html(_ type: FieldType) -> HTML {
        HTML([HTML(text(type)), type.isEncrypted ? HTML([HTML(" "), Part.mark("sealed", .good)]) : HTML()])
    }
}
