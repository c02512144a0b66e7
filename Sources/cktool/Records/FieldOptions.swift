import ArgumentParser
import Foundation

/// The options that give the fields of a record.
struct FieldOptions: ParsableArguments {
    @Option(help: "A file with the fields as JSON, {\"NAME\": {\"type\": \"stringType\", \"value\": \"…\"}}.")
    var fieldsFile: String?
    @Option(help: "The fields as JSON.") var fieldsJson: String?
    @Flag(help: "Read the fields from standard input.") var fieldsStdin = false
    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("The files that fields of the type assetType name by their keys.", valueName: "KEY=PATH"))
    var assetFiles: [String] = []

    func validate() throws {
        guard [fieldsFile != nil, fieldsJson != nil, fieldsStdin].count(where: { $0 }) == 1 else {
            throw ValidationError("Give the fields with one of --fields-json, --fields-file and --fields-stdin.")
        }
    }

    /// Reads the fields.
    ///
    /// - Throws: `ToolFailure`, also when a field names a file that is not given.
    func read() throws -> (input: GivenFields, files: [String: String]) {
        let data: Data
        if let fieldsJson {
            data = Data(fieldsJson.utf8)
        } else if let fieldsFile {
            guard let contents = FileManager.default.contents(atPath: fieldsFile) else {
                throw ToolFailure("The file \(fieldsFile) cannot be read.")
            }
            data = contents
        } else {
            data = FileHandle.standardInput.readDataToEndOfFile()
        }
        let input = try GivenFields(data)
        var files: [String: String] = [:]
        for entry in assetFiles {
            guard let equals = entry.firstIndex(of: "="), equals != entry.startIndex else {
                throw ValidationError("'\(entry)' is not of the form KEY=PATH.")
            }
            let path = String(entry[entry.index(after: equals)...])
            files[String(entry[..<equals])] = (path as NSString).expandingTildeInPath
        }
        if let missing = input.assetKeys.subtracting(files.keys).min() {
            throw ToolFailure("The file \(missing) is not given. Add --asset-files \(missing)=PATH.")
        }
        return (input, files)
    }

    /// Reads the fields and uploads their files.
    ///
    /// - Returns: The fields as web services take them.
    func upload(to database: RecordDatabase, recordType: String, recordName: String) async throws -> JSONTree {
        let (input, files) = try read()
        return try await input.wire { field, key in
            try await database.upload(files[key] ?? "", field: field, recordType: recordType, recordName: recordName)
        }
    }
}
