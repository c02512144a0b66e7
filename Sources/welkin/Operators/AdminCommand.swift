import ArgumentParser
import CloudKitAccounts
import CloudKitModel
import CloudKitServer

/// Manages the tokens of the operator's programs.
struct AdminCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin", abstract: "Manage operator tokens for the admin API and the metrics.",
        discussion: """
            A token allows programs to inject faults over HTTP, as `welkin fault` does here, in development only, to manage schemas, and to \
            read /metrics from other machines. With --container it is for that container only: a developer's management token. \
            Without any token the admin API is off. See docs/admin-api.md.
            """,
        subcommands: [OperatorTokenCommand.self])
}

struct OperatorTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Manage operator tokens.",
        subcommands: [
            CreateOperatorTokenCommand.self, ListOperatorTokensCommand.self, RevokeOperatorTokenCommand.self,
        ])
}

struct CreateOperatorTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Create an operator token; the first one switches on the admin API.",
        discussion: "The token is printed once; the cloud stores only its hash. A running cloud accepts it immediately."
    )

    @OptionGroup var folder: DataOptions
    @Option(help: "The purpose of the token.") var name: String = ""
    @Option(help: "The only container that the token gives access to; the whole cloud if omitted.")
    var container: String?
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        if let container { try ContainerOptions.check(container) }
    }

    func run() async throws {
        let (token, row) = try await DataFolder.with(folder) { folder in
            try await folder.order(
                "tokens/operator/create", details: container.map { ["for": $0] } ?? [:],
                noting: { ["token": $0.row.id] }
            ) {
                try await folder.accountStore.operatorTokens.create(
                    name: name, container: container.map { ContainerID($0) })
            }
        }
        if json { return try Output.json(OperatorTokenLine(row, token: token)) }
        Output.result(token)
        Output.remark(
            "Operator token \(row.id)\(row.container.map { " for " + $0 } ?? ""). It is not shown again; programs send it as: Authorization: Bearer TOKEN"
        )
    }
}

struct ListOperatorTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the operator tokens.")

    @OptionGroup var folder: DataOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let lines = try await DataFolder.with(folder) { try await $0.accountStore.operatorTokens.list() }
            .map { OperatorTokenLine($0) }
        if json { return try Output.json(lines) }
        guard !lines.isEmpty else {
            return Output.remark("No operator tokens: the admin API is off. Create one with: welkin admin token create")
        }
        Output.table(
            [["ID", "CONTAINER", "NAME", "CREATED", "STATE"]]
                + lines.map {
                    [
                        $0.id, $0.container ?? "all", $0.name, Output.time($0.created),
                        $0.revoked ? "revoked" : "active",
                    ]
                })
    }
}

struct RevokeOperatorTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Revoke an operator token immediately.",
        discussion: "Revoking the last token switches off the admin API.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The token's id, its first digits, or the token itself.") var token: String

    func run() async throws {
        let revoked = try await DataFolder.with(folder) { folder in
            try await folder.order("tokens/operator/revoke", noting: { ["token": Self.ids($0)] }) {
                try await folder.accountStore.operatorTokens.revoke(token)
            }
        }
        try RevocationError.check(revoked.map(\.id), kind: "operator token", list: "welkin admin token list")
        Output.result("Operator token \(revoked[0].id) revoked.")
    }

    private static func ids(_ tokens: [OperatorToken]) -> String { tokens.map(\.id).joined(separator: " ") }
}

/// The row of an operator token in the list.
private struct OperatorTokenLine: Encodable {
    var id: String
    var name: String
    var container: String?
    var created: Int64
    var revoked: Bool
    var token: String?

    init(_ row: OperatorToken, token: String? = nil) {
        id = row.id
        name = row.name
        container = row.container
        created = row.created
        revoked = row.isRevoked
        self.token = token
    }
}
