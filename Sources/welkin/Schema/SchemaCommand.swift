import ArgumentParser
import CloudKitModel
import CloudKitSchema
import CloudKitServer

/// Shows and changes the record types of a container.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Manage the record types of a container, their indexes and roles.",
        discussion: """
            A schema grows in development by what apps save, or by an import; `deploy` copies it to production. See docs/schema.md. \
            All commands work beside a running cloud.
            """,
        subcommands: [
            ListSchemaCommand.self, SetIndexCommand.self, ExportSchemaCommand.self, ImportSchemaCommand.self,
            ValidateSchemaCommand.self, DiffSchemaCommand.self, LintSchemaCommand.self, DeploySchemaCommand.self,
            ResetSchemaCommand.self, RoleCommand.self,
        ])
}

struct ListSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the record types with their fields and indexes.")

    @OptionGroup var folder: DataOptions
    @OptionGroup var containerOptions: ContainerOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let schema = try await DataFolder.with(folder) { folder in
            try await folder.cloud.schema(containerOptions.containerID, containerOptions.environment)
        }
        let lines = schema.types.values.sorted { $0.name < $1.name }.flatMap(FieldLine.lines)
        if json { return try Output.json(lines) }
        Output.table(
            [["TYPE", "FIELD", "HOLDS", "INDEXES"]]
                + lines.map { [$0.recordType, $0.field, $0.type, $0.indexes.joined(separator: " ")] })
    }
}

struct SetIndexCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index", abstract: "Set the indexes of a field.",
        discussion: """
            Indexes that are not named are removed. System fields have the names recordName, createdTimestamp, \
            modifiedTimestamp, createdUserRecordName, modifiedUserRecordName, or those of schemas, such as ___recordID. Builds \
            the index over the existing records.
            """)

    @OptionGroup var folder: DataOptions
    @OptionGroup var containerOptions: ContainerOptions
    @Argument(help: "The record type.") var recordType: String
    @Argument(help: "The field, or a system field.") var field: String
    @Flag(help: "Equality, membership, list tests.") var queryable = false
    @Flag(help: "Ordering and ranges.") var sortable = false
    @Flag(help: "Full text.") var searchable = false

    func run() async throws {
        var indexes: FieldIndexes = []
        if queryable { indexes.insert(.queryable) }
        if sortable { indexes.insert(.sortable) }
        if searchable { indexes.insert(.searchable) }
        let chosen = indexes
        do {
            try await DataFolder.with(folder) { folder in
                let (container, environment) = (containerOptions.containerID, containerOptions.environment)
                let schema = try await folder.cloud.schema(container, environment)
                let details = ["recordType": recordType, "field": field]
                try await folder.order("schema/index", in: container, environment, details: details) {
                    try await SetIndex(folder.cloud).run(
                        chosen, on: key(in: schema[recordType]), ofType: recordType, in: container, environment)
                }
            }
        } catch let failure as RequestFailure {
            throw SchemaError(failure: failure)
        }
        let names = FieldLine.names(chosen)
        Output.result("\(recordType).\(field): \(names.isEmpty ? "no index" : names.joined(separator: ", ")).")
    }

    /// Returns the key of the field; a field takes precedence over a system field of the same name.
    private func key(in type: RecordTypeDefinition?) -> QueryKey {
        guard type?.fields[field] == nil else { return .field(field) }
        let attribute = QueryKey.SystemField.allCases.first {
            $0.rawValue == field || $0.schemaName.lowercased() == field.lowercased()
        }
        return attribute.map { .system($0) } ?? .field(field)
    }
}

/// The error of a refused schema change.
struct SchemaError: Error, CustomStringConvertible {
    var failure: RequestFailure

    var description: String { [failure.reason + ".", failure.remedy].compactMap { $0 }.joined(separator: " ") }
}

/// The row of a field in the list.
private struct FieldLine: Encodable {
    var recordType: String
    var field: String
    var type: String
    var indexes: [String]

    static func lines(_ type: RecordTypeDefinition) -> [FieldLine] {
        let fields = type.fields.sorted { $0.key < $1.key }.map { name, field in
            FieldLine(
                recordType: type.name, field: name, type: Self.word(field.type), indexes: Self.names(field.indexes))
        }
        let attributes = type.systemIndexes.sorted { $0.key.schemaName < $1.key.schemaName }.map { attribute, indexes in
            FieldLine(
                recordType: type.name, field: attribute.schemaName, type: "attribute", indexes: Self.names(indexes))
        }
        return fields.isEmpty && attributes.isEmpty
            ? [FieldLine(recordType: type.name, field: "", type: "", indexes: [])] : attributes + fields
    }

    static func names(_ indexes: FieldIndexes) -> [String] {
        [(FieldIndexes.queryable, "queryable"), (.sortable, "sortable"), (.searchable, "searchable")]
            .filter { indexes.contains($0.0) }.map(\.1)
    }

    private static func word(_ type: FieldType) -> String {
        let base = String(describing: type.base).uppercased()
        let word = (type.isEncrypted ? "ENCRYPTED " : "") + base
        return type.isList ? "LIST<\(word)>" : word
    }
}
