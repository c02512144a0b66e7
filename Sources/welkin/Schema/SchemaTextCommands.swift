import ArgumentParser
import CloudKitModel
import CloudKitSchema
import CloudKitServer
import Foundation

/// Reads the file of a schema.
enum SchemaFile {
    /// Returns the text of a file; of standard input for `-`.
    static func text(_ path: String) throws -> String {
        if path == "-" {
            return String(decoding: FileHandle.standardInput.readDataToEndOfFile(), as: UTF8.self)
        }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure("the file \(path) cannot be read")
        }
        return String(decoding: data, as: UTF8.self)
    }
}

extension Output {
    /// Prints the changes of a schema.
    static func changes(_ changes: [SchemaChange]) {
        if changes.isEmpty { return remark("The schemas do not differ.") }
        for change in changes { result(change.line) }
    }

    /// Prints the findings of a report, the gravest first.
    static func findings(_ report: DeploymentReport) {
        for finding in report.findings { result("\(finding.kind.word): \(finding.text)") }
    }

    /// Reports how far an index build is.
    static func progress(_ progress: IndexBuildProgress) {
        remark("Indexes: \(progress.databasesDone) of \(progress.databases) databases, \(progress.records) records.")
    }
}

extension DeploymentReport.Finding.Kind {
    fileprivate var word: String {
        switch self {
        case .conflict: "refused"
        case .risk: "risk"
        case .missingIndex: "missing index"
        case .pending: "pending"
        }
    }
}

struct ExportSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Print the schema of a container in the schema language.")

    @OptionGroup var folder: DataOptions
    @OptionGroup var containerOptions: ContainerOptions
    @Option(help: "Write to this file.") var output: String?

    func run() async throws {
        let text = try await DataFolder.with(folder) { folder in
            try await ExportSchema(folder.cloud).run(of: containerOptions.containerID, containerOptions.environment)
        }
        guard let output else { return Output.write(text, to: 1) }
        do {
            try Data(text.utf8).write(to: URL(fileURLWithPath: output))
        } catch {
            throw CommandFailure("the file \(output) cannot be written")
        }
    }
}

struct ImportSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Make the schema of development what a file says.",
        discussion: """
            Nothing is changed where any part of the file is invalid. What is deployed to production cannot be removed or retyped. \
            Records that have what is removed are deleted with --remove-data only.
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "The container, such as iCloud.com.example.app.") var container: String
    @Argument(help: "The file of the schema; - for standard input.") var file: String
    @Flag(help: "Delete the records of removed types, and those with removed fields.") var removeData = false

    func validate() throws { try ContainerOptions.check(container) }

    func run() async throws {
        let text = try SchemaFile.text(file)
        let changes = try await DataFolder.with(folder) { folder in
            try await folder.order(
                "schema/import", in: ContainerID(container), .development,
                details: ["removesData": removeData ? "yes" : "no"]
            ) {
                try await ImportSchema(folder.cloud).run(
                    text, in: ContainerID(container), removesData: removeData, progress: Output.progress)
            }
        }
        Output.changes(changes)
    }
}

struct ValidateSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate", abstract: "Check a file as an import would, and change nothing.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The container, such as iCloud.com.example.app.") var container: String
    @Argument(help: "The file of the schema; - for standard input.") var file: String

    func validate() throws { try ContainerOptions.check(container) }

    func run() async throws {
        let text = try SchemaFile.text(file)
        _ = try await DataFolder.with(folder) { folder in
            try await ImportSchema(folder.cloud).validate(text, in: ContainerID(container))
        }
        Output.result("Schema is valid.")
    }
}

struct DiffSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff", abstract: "Compare development with production, or a file with an environment.",
        discussion: "The lines say how to get from production, or from the environment, to development or the file.")

    @OptionGroup var folder: DataOptions
    @OptionGroup var containerOptions: ContainerOptions
    @Argument(help: "A file to compare the environment with; development and production are compared if omitted.")
    var file: String?

    func run() async throws {
        let text = try file.map(SchemaFile.text)
        let changes = try await DataFolder.with(folder) { folder in
            let operation = ExportSchema(folder.cloud)
            guard let text else { return try await operation.difference(of: containerOptions.containerID) }
            return try await operation.difference(
                of: text, from: containerOptions.containerID, containerOptions.environment)
        }
        Output.changes(changes)
    }
}

struct LintSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lint", abstract: "Report on what a deployment would change for apps.",
        discussion: """
            Names the saves and queries that development has served and production refuses, indexes that queries asked for, and \
            changes that apps could notice. Exits with 1 where the deployment is refused or needs --force.
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "The container, such as iCloud.com.example.app.") var container: String

    func validate() throws { try ContainerOptions.check(container) }

    func run() async throws {
        let report = try await DataFolder.with(folder) { folder in
            try await DeploySchema(folder.cloud).report(on: ContainerID(container))
        }
        Output.changes(report.changes)
        Output.findings(report)
        guard report.isSafe else { throw ExitCode(1) }
    }
}

struct DeploySchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deploy", abstract: "Copy the schema of development to production, never data.",
        discussion: """
            Adds roles, record types and fields, and sets indexes and grants. A deployment that apps could notice needs --force; \
            see `welkin schema lint`.
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "The container, such as iCloud.com.example.app.") var container: String
    @Flag(help: "Deploy although apps could notice.") var force = false

    func validate() throws { try ContainerOptions.check(container) }

    func run() async throws {
        let report = try await DataFolder.with(folder) { folder in
            try await folder.order(
                "schema/deploy", in: ContainerID(container), .production, details: ["force": force ? "yes" : "no"]
            ) {
                try await DeploySchema(folder.cloud).run(
                    of: ContainerID(container), force: force, progress: Output.progress)
            }
        }
        Output.changes(report.changes)
        Output.remark("Deployed to production.")
    }
}

struct ResetSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset", abstract: "Delete development's records and give it production's schema.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The container, such as iCloud.com.example.app.") var container: String
    @Flag(help: "Do not ask.") var yes = false

    func validate() throws { try ContainerOptions.check(container) }

    func run() async throws {
        guard
            yes
                || Confirmation.ask(
                    "This deletes all records of \(container) in development. Type yes to go on: ")
        else { throw CommandFailure("nothing was reset; confirm with --yes") }
        try await DataFolder.with(folder) { folder in
            try await folder.order("schema/reset", in: ContainerID(container), .development) {
                try await ResetSchema(folder.cloud).run(of: ContainerID(container))
            }
        }
        Output.result("Development has production's schema and no records.")
    }
}

/// Manages the users of custom roles.
struct RoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "role", abstract: "Manage the users of the schema's custom roles.",
        subcommands: [GiveRoleCommand.self, TakeRoleCommand.self, ListRolesCommand.self])
}

/// The arguments that name a role and a user.
struct RoleOptions: ParsableArguments {
    @Argument(help: "The role, as CREATE ROLE declares it.") var role: String
    @Argument(help: "The e-mail address of the user's account.") var email: String

    func set(_ isGiven: Bool, in place: ContainerOptions, _ folder: DataOptions) async throws {
        try await DataFolder.with(folder) { folder in
            guard let account = try await folder.accountStore.accounts.account(email: email) else {
                throw CommandFailure("there is no account \(email)")
            }
            let user = try await folder.accountStore.userNames.name(of: account.id, in: place.containerID)
            let details = ["role": role, "user": user.recordName, "given": isGiven ? "yes" : "no"]
            try await folder.order("schema/roles", in: place.containerID, place.environment, details: details) {
                try await SetRoles(folder.cloud).run(
                    role, isGiven: isGiven, to: user, in: place.containerID, place.environment)
            }
        }
        Output.result(
            "\(email) \(isGiven ? "has" : "no longer has") the role \(role) in \(place.container), \(place.environment.rawValue)."
        )
    }
}

struct GiveRoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "give", abstract: "Give a user a role.")

    @OptionGroup var folder: DataOptions
    @OptionGroup var containerOptions: ContainerOptions
    @OptionGroup var role: RoleOptions

    func run() async throws { try await role.set(true, in: containerOptions, folder) }
}

struct TakeRoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "take", abstract: "Take a role from a user.")

    @OptionGroup var folder: DataOptions
    @OptionGroup var containerOptions: ContainerOptions
    @OptionGroup var role: RoleOptions

    func run() async throws { try await role.set(false, in: containerOptions, folder) }
}

struct ListRolesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the users of every role.")

    @OptionGroup var folder: DataOptions
    @OptionGroup var containerOptions: ContainerOptions

    func run() async throws {
        let members = try await DataFolder.with(folder) { folder in
            try await SetRoles(folder.cloud).members(in: containerOptions.containerID, containerOptions.environment)
        }
        Output.table(
            [["ROLE", "USERS"]]
                + members.sorted { $0.key < $1.key }.map {
                    [$0.key, $0.value.map(\.recordName).sorted().joined(separator: " ")]
                })
    }
}
