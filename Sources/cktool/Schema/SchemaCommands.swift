import ArgumentParser
import Foundation

/// The options of commands for the schema of one environment.
struct SchemaOptions: ParsableArguments {
    @OptionGroup var tokenOption: TokenOption
    @OptionGroup var team: TeamOption
    @OptionGroup var containerOption: ContainerOption
    @OptionGroup var environmentOption: EnvironmentOption
    @OptionGroup var cloud: CloudOptions

    /// Returns the place that the options name, and a client for it.
    func open() throws -> (place: ContainerPlace, client: ManagementClient) {
        let place = try ContainerPlace(cloud, containerOption, environment: environmentOption.environment)
        return (place, try ManagementClient(place, tokenOption))
    }
}

/// The file of a schema.
enum SchemaText {
    /// Bytes of a schema's text that a cloud takes.
    static let bytesMax = 1_000_000

    /// Returns the text of a file; of standard input for `-`.
    static func text(_ path: String) throws -> JSONTree {
        let data =
            path == "-"
            ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: path)
        guard let data else { throw ToolFailure("The file \(path) cannot be read.") }
        guard data.count <= bytesMax, let text = String(data: data, encoding: .utf8) else {
            throw ToolFailure("The file \(path) is not a schema: it has more than 1 MB or is not UTF-8.")
        }
        return .text(text)
    }
}

/// Prints the schema of an environment.
struct ExportRemoteSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export-schema", abstract: "Return the current schema for a given container and environment.")

    @OptionGroup var options: SchemaOptions
    @Option(help: "Write the schema to this file.") var outputFile: String?

    func run() async throws {
        let (place, client) = try options.open()
        let answer = try await client.schema("export", in: place)
        let text = answer["schema"]?.text ?? ""
        guard let outputFile else { return ToolOutput.write(text, to: 1) }
        do {
            try Data(text.utf8).write(to: URL(fileURLWithPath: outputFile))
        } catch {
            throw ToolFailure("The file \(outputFile) cannot be written.")
        }
    }
}

/// Makes development's schema what a file says.
struct ImportRemoteSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import-schema", abstract: "Import a schema file into the given container and environment.",
        discussion: """
            Prints nothing. Nothing is changed where any part of the file is invalid. What production has cannot be removed or retyped, and \
            production itself takes a schema from development only: see deploy-schema.
            """)

    @OptionGroup var options: SchemaOptions
    @Flag(help: "Validate the file and change nothing.") var validate = false
    @Flag(help: "Delete the records of removed types, and those with removed fields.") var removeData = false
    @Option(help: "The file of the schema; - for standard input.") var file: String

    func run() async throws {
        let (place, client) = try options.open()
        let text = try SchemaText.text(file)
        if validate { return try await client.validate(text, in: place) }
        _ = try await client.schema("import", in: place, ["schema": text, "removeData": .flag(removeData)])
    }
}

/// Checks a file as an import would.
struct ValidateRemoteSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate-schema", abstract: "Validate a schema file against a container; nothing is changed.")

    @OptionGroup var options: SchemaOptions
    @Option(help: "The file of the schema; - for standard input.") var file: String

    func run() async throws {
        let (place, client) = try options.open()
        try await client.validate(try SchemaText.text(file), in: place)
    }
}

extension ManagementClient {
    /// Checks a schema and prints the verdict.
    ///
    /// - Throws: `ExitCode` 1 for a schema that is not valid.
    fileprivate func validate(_ text: JSONTree, in place: ContainerPlace) async throws {
        do {
            _ = try await schema("import", in: place, ["schema": text, "validate": .flag(true)])
        } catch let refusal as CloudRefusal where refusal.code == "BAD_REQUEST" {
            ToolOutput.remark("❌ Schema validation failed: \(refusal)")
            throw ExitCode(1)
        }
        ToolOutput.result("✅ Schema is valid.")
    }
}

/// Puts development back to production's schema.
struct ResetRemoteSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset-schema",
        abstract: "Reset the schema of development to production's, and delete all data in development.")

    @OptionGroup var tokenOption: TokenOption
    @OptionGroup var team: TeamOption
    @OptionGroup var containerOption: ContainerOption
    @OptionGroup var cloud: CloudOptions

    func run() async throws {
        let place = try ContainerPlace(cloud, containerOption, environment: .development)
        _ = try await ManagementClient(place, tokenOption).schema("reset", in: place)
    }
}

/// Compares schemas; an addition to Apple's tool.
struct DiffRemoteSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff-schema", abstract: "Compare development with production, or a file with an environment.",
        discussion: """
            Prints a line for each change that leads from production to development, or from the environment to the file. An addition to \
            Apple's tool.
            """)

    @OptionGroup var options: SchemaOptions
    @Option(help: "The file to compare the environment with; - for standard input.") var file: String?

    func run() async throws {
        let (place, client) = try options.open()
        let body: [String: JSONTree] = try file.map { ["schema": try SchemaText.text($0)] } ?? [:]
        let answer = try await client.schema("diff", in: place, body)
        ToolOutput.changes(answer)
    }
}

/// Deploys development's schema; an addition to Apple's tool.
struct DeployRemoteSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deploy-schema", abstract: "Copy the schema of development to production, never data.",
        discussion: """
            Prints the changes. A deployment that apps could notice needs --force; --dry-run prints the changes and what apps could notice, and \
            exits with 1 where the deployment would be refused. An addition to Apple's tool, where it is done in the Console.
            """)

    @OptionGroup var tokenOption: TokenOption
    @OptionGroup var team: TeamOption
    @OptionGroup var containerOption: ContainerOption
    @OptionGroup var cloud: CloudOptions
    @Flag(help: "Deploy although apps could notice.") var force = false
    @Flag(help: "Report on the deployment and change nothing.") var dryRun = false

    func run() async throws {
        let place = try ContainerPlace(cloud, containerOption, environment: .production)
        let client = try ManagementClient(place, tokenOption)
        let answer = try await client.schema(
            "deploy", in: place, [dryRun ? "validate" : "force": .flag(dryRun || force)])
        ToolOutput.changes(answer)
        guard dryRun else { return ToolOutput.remark("Deployed to production.") }
        for finding in answer["findings"]?.list ?? [] {
            let kind = finding["kind"]?.text ?? "finding"
            ToolOutput.result("\(Self.words[kind] ?? kind): \(finding["text"]?.text ?? "")".onOneLine)
        }
        guard answer["isSafe"]?.flag == true else { throw ExitCode(1) }
    }

    /// How `welkin schema lint` calls findings.
    private static let words = ["conflict": "refused", "missingIndex": "missing index"]
}

extension ToolOutput {
    /// Prints the changes of an answer, one a line.
    fileprivate static func changes(_ answer: JSONTree) {
        let changes = answer["changes"]?.list ?? []
        if changes.isEmpty { return remark("The schemas do not differ.") }
        for change in changes { result((change.text ?? "").onOneLine) }
    }
}
