import ArgumentParser
import CloudKitAccounts
import CloudKitServer

/// API tokens, with which apps are let in.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "API tokens, with which apps are let in.",
        subcommands: [CreateTokenCommand.self, ListTokensCommand.self, RevokeTokenCommand.self])
}

struct CreateTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Make an API token; with its first token a container exists.",
        discussion: "The token is printed once; the cloud keeps its hash.")

    @OptionGroup var folder: DataOptions
    @OptionGroup var place: PlaceOptions
    @Option(help: "What the token is for.") var name: String = ""
    @Option(
        name: .customLong("origin"),
        help: ArgumentHelp(
            "A web page's origin that may use it, such as https://app.example.com; repeat it for more. None: any.",
            valueName: "origin"))
    var origins: [String] = []
    @Option(help: ArgumentHelp("Where browsers go after signing in; none: a message to the page.", valueName: "url"))
    var callback: String?
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let (token, row) = try await DataFolder.with(folder.data) { folder in
            try await folder.accountStore.apiTokens.create(
                container: place.containerID, environment: place.environment, name: name, allowedOrigins: origins,
                callback: callback)
        }
        if json { return try Output.json(TokenLine(row, token: token)) }
        Output.result(token)
        Output.remark(
            "API token \(row.id) for \(row.container), \(row.environment). It is shown only now; apps take it from "
                + "CLOUDKIT_API_TOKEN.")
    }
}

struct ListTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Show every API token.")

    @OptionGroup var folder: DataOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let lines = try await DataFolder.with(folder.data) { try await $0.accountStore.apiTokens.list() }.map {
            TokenLine($0)
        }
        if json { return try Output.json(lines) }
        guard !lines.isEmpty else {
            return Output.remark("No API tokens. Make one with: welkin token create iCloud.com.example.app")
        }
        Output.table(
            [["ID", "CONTAINER", "ENVIRONMENT", "NAME", "MADE", "STATE", "ORIGINS"]]
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
        commandName: "revoke", abstract: "Make an API token worthless.",
        discussion: "A running cloud notices within a second.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The token's id, its first digits, or the token itself.") var token: String

    func run() async throws {
        let revoked = try await DataFolder.with(folder.data) { try await $0.accountStore.apiTokens.revoke(token) }
        try RevocationError.check(revoked.map(\.id), "API token", list: "welkin token list")
        Output.result("API token \(revoked[0].id) revoked.")
    }
}

/// What was to be revoked is not there, or there is more than one such.
struct RevocationError: Error, CustomStringConvertible {
    var description: String

    static func check(_ matches: [String], _ what: String, list: String) throws {
        switch matches.count {
        case 1: return
        case 0: throw RevocationError(description: "There is no such \(what) in use. See: \(list)")
        default:
            throw RevocationError(
                description: "Several match: \(matches.joined(separator: ", ")). Give more digits.")
        }
    }
}

/// An API token as it is shown.
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
