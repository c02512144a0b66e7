import ArgumentParser
import CloudKitAccounts
import CloudKitServer

/// Manages the API tokens of apps.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Manage the API tokens of apps.",
        subcommands: [CreateTokenCommand.self, ListTokensCommand.self, RevokeTokenCommand.self])
}

struct CreateTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Create an API token; a container's first token creates the container.",
        discussion: "The token is printed once; the cloud stores only its hash.")

    @OptionGroup var folder: DataOptions
    @OptionGroup var containerOptions: ContainerOptions
    @Option(help: "The purpose of the token.") var name: String = ""
    @Option(
        name: .customLong("origin"),
        help: ArgumentHelp(
            "An allowed origin of web pages, such as https://app.example.com; may be repeated. Any origin if omitted.",
            valueName: "origin"))
    var origins: [String] = []
    @Option(
        help: ArgumentHelp(
            "The address to which browsers are redirected after signing in; if omitted, the page gets a message.",
            valueName: "url"))
    var callback: String?
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let (token, row) = try await DataFolder.with(folder) { folder in
            try await folder.order(
                "tokens/api/create", in: containerOptions.containerID, containerOptions.environment,
                noting: { ["token": $0.row.id] }
            ) {
                try await folder.accountStore.apiTokens.create(
                    container: containerOptions.containerID, environment: containerOptions.environment, name: name,
                    allowedOrigins: origins, callback: callback)
            }
        }
        if json { return try Output.json(TokenLine(row, token: token)) }
        Output.result(token)
        Output.remark(
            "API token \(row.id) for \(row.container), \(row.environment). It is not shown again; apps read it from "
                + "CLOUDKIT_API_TOKEN.")
    }
}

struct ListTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the API tokens.")

    @OptionGroup var folder: DataOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let lines = try await DataFolder.with(folder) { try await $0.accountStore.apiTokens.list() }.map {
            TokenLine($0)
        }
        if json { return try Output.json(lines) }
        guard !lines.isEmpty else {
            return Output.remark("No API tokens. Create one with: welkin token create iCloud.com.example.app")
        }
        Output.table(
            [["ID", "CONTAINER", "ENVIRONMENT", "NAME", "CREATED", "STATE", "ORIGINS"]]
                + lines.map {
                    [
                        $0.id, $0.container, $0.environment, $0.name, Output.time($0.created),
                        $0.revoked ? "revoked" : "active",
                        $0.origins.isEmpty ? "any" : $0.origins.joined(separator: " "),
                    ]
                })
    }
}

struct RevokeTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Revoke an API token.",
        discussion: "A running cloud applies the change within a second.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The token's id, its first digits, or the token itself.") var token: String

    func run() async throws {
        let revoked = try await DataFolder.with(folder) { folder in
            try await folder.order(
                "tokens/api/revoke", noting: { ["token": $0.map(\.id).joined(separator: " ")] }
            ) {
                try await folder.accountStore.apiTokens.revoke(token)
            }
        }
        try RevocationError.check(revoked.map(\.id), kind: "API token", list: "welkin token list")
        Output.result("API token \(revoked[0].id) revoked.")
    }
}

/// The error of an id that matches no revocable item, or several.
struct RevocationError: Error, CustomStringConvertible {
    var description: String

    static func check(_ matches: [String], kind: String, list: String) throws {
        switch matches.count {
        case 1: return
        case 0: throw RevocationError(description: "There is no active \(kind) with this id. See: \(list)")
        default:
            throw RevocationError(
                description: "Several match: \(matches.joined(separator: ", ")). Give more digits.")
        }
    }
}

/// The row of an API token in the list.
private struct TokenLine: Encodable {
    var id: String
    var container: String
    var environment: String
    var name: String
    var created: Int64
    var revoked: Bool
    var origins: [String]
    var callback: String?
    var token: String?

    init(_ row: APIToken, token: String? = nil) {
        id = row.id
        container = row.container
        environment = row.environment
        name = row.name
        created = row.created
        revoked = row.isRevoked
        origins = row.allowedOrigins
        callback = row.callback
        self.token = token
    }
}
