import ArgumentParser
import Foundation

/// Creates a record.
struct CreateRecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create-record", abstract: "Create a new record in a given database, returning the new record.",
        discussion: """
            Types are stringType, int64Type, doubleType, timestampType, bytesType, locationType, referenceType, assetType, and lists such as \
            stringListType. The value of an assetType is a key of --asset-files.
            """)

    @OptionGroup var options: RecordOptions
    @Option(help: "The type of the record.") var recordType: String
    @Option(help: "The name of the record; a new one if omitted. An addition to Apple's tool.") var recordName: String?
    @OptionGroup var fields: FieldOptions

    func run() async throws {
        let database = try options.open()
        let name = recordName ?? UUID().uuidString
        let values = try await fields.upload(to: database, recordType: recordType, recordName: name)
        let record = try await database.modify(
            "create", ["recordName": .text(name), "recordType": .text(recordType), "fields": values])
        try ToolOutput.json(RecordOutput.record(record))
    }
}

/// Changes fields of a record; an addition to Apple's tool.
struct UpdateRecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update-record", abstract: "Change fields of a record, returning the new version.",
        discussion: """
            Fields that are not named keep their values; one whose value is null is removed. With --record-change-tag the update fails if the \
            record has been changed since. An addition to Apple's tool.
            """)

    @OptionGroup var options: RecordOptions
    @Option(help: "The name of the record.") var recordName: String
    @Option(help: "The version that is to be changed; the newest if omitted.") var recordChangeTag: String?
    @OptionGroup var fields: FieldOptions

    func run() async throws {
        let database = try options.open()
        let held = try await database.lookup(recordName)
        let type = held["recordType"] ?? .text("")
        let values = try await fields.upload(
            to: database, recordType: type.text ?? "", recordName: recordName)
        let tag = recordChangeTag.map { .text($0) } ?? held["recordChangeTag"] ?? .null
        let record = try await database.modify(
            "update",
            ["recordName": .text(recordName), "recordType": type, "recordChangeTag": tag, "fields": values])
        try ToolOutput.json(RecordOutput.record(record))
    }
}

/// Returns records by their names; an addition to Apple's tool.
struct LookupRecordsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lookup-records", abstract: "Return records by their names, as JSON.",
        discussion: "Exits with 1 where one of them is missing. An addition to Apple's tool.")

    @OptionGroup var options: RecordOptions
    @Option(parsing: .upToNextOption, help: "The names of the records, at most 200.") var recordNames: [String]
    @Option(parsing: .upToNextOption, help: "The fields to return; all if omitted.") var requestedFields: [String] = []

    func validate() throws {
        guard (1...RecordDatabase.itemsMax).contains(recordNames.count) else {
            throw ValidationError("Give 1 to \(RecordDatabase.itemsMax) names with --record-names.")
        }
    }

    func run() async throws {
        var body: [String: JSONTree] = ["records": .list(recordNames.map { .object(["recordName": .text($0)]) })]
        if !requestedFields.isEmpty { body["desiredKeys"] = .list(requestedFields.map { .text($0) }) }
        let answer = try await options.open().post("records/lookup", body)
        let items = answer["records"]?.list ?? []
        let failures = items.filter { $0["serverErrorCode"] != nil }
        try ToolOutput.json(
            .object(["records": .list(items.filter { $0["serverErrorCode"] == nil }.map(RecordOutput.record))]))
        for failure in failures {
            ToolOutput.remark("\(failure["recordName"]?.text ?? "?"): \(CloudRefusal(item: failure))".onOneLine)
        }
        guard failures.isEmpty else { throw ExitCode(1) }
    }
}

/// Deletes a record.
struct DeleteRecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete-record", abstract: "Delete a record from a given database by its unique record name.")

    @OptionGroup var options: RecordOptions
    @Option(help: "The name of the record.") var recordName: String
    @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false

    func run() async throws {
        let database = try options.open()
        let held = try await database.lookup(recordName)
        if !yes {
            let type = (held["recordType"]?.text ?? "").onOneLine
            try Prompt.confirm("Delete the \(type) \(recordName) permanently?", orGive: "--yes")
        }
        _ = try await database.modify(
            "delete", ["recordName": .text(recordName), "recordChangeTag": held["recordChangeTag"] ?? .null])
    }
}
