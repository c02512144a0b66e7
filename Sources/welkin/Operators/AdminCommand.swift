import ArgumentParser
import CloudKitAccounts
import CloudKitModel
import CloudKitServer

/// What operators' programs are let in with.
struct AdminCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin", abstract: "Operators' tokens: for the admin API and the metrics.",
        discussion: """
            With a token, programs order over HTTP what `welkin fault` orders here, in development only, and read /metrics \
            from elsewhere. Without any token the admin API is off. See docs/admin-api.md.
            """,
        subcommands: [OperatorTokenCommand.self])
}

struct OperatorTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Operators' tokens.",
        subcommands: [
            CreateOperatorTokenCommand.self, ListOperatorTokensCommand.self, RevokeOperatorTokenCommand.self,
        ])
}

struct CreateOperatorTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Make an operator's token; the first one switches the admin API on.",
        discussion: "The token is printed once; the cloud keeps its hash. A running cloud knows it at once.")

    @OptionGroup var folder: DataOptions
    @Option(help: "What the token is for.") var name: String = ""
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let (token, row) = try await DataFolder.with(folder.data) { folder in
            try await folder.accountStore.operatorTokens.create(name: name)
        }
        if json { return try Output.json(OperatorTokenLine(row, token: token)) }
        Output.result(token)
        Output.remark(
            "Operator's token \(row.id). It is shown only now; programs send it as: Authorization: Bearer TOKEN")
    }
}

struct ListOperatorTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Show every operator's token.")

    @OptionGroup var folder: DataOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let lines = try await DataFolder.with(folder.data) { try await $0.accountStore.operatorTokens.list() }
            .map { OperatorTokenLine($0) }
        if json { return try Output.json(lines) }
        guard !lines.isEmpty else {
            return Output.remark("No operator's tokens: the admin API is off. Make one with: welkin admin token create")
        }
        Output.table(
            [["ID", "NAME", "MADE", "STATE"]]
                + lines.map { [$0.id, $0.name, Output.time($0.created), $0.revoked ? "revoked" : "active"] })
    }
}

struct RevokeOperatorTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Make an operator's token worthless, at once.",
        discussion: "With the last one the admin API is off.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The token's id, its first digits, or the token itself.") var token: String

    func run() async throws {
        let revoked = try await DataFolder.with(folder.data) { try await $0.accountStore.operatorTokens.revoke(token) }
        try RevocationError.check(revoked.map(\.id), "operator's token", list: "welkin admin token list")
        Output.result("Operator's token \(revoked[0].id) revoked.")
    }
}

/// An operator's token as it is shown.
private struct OperatorTokenLine: Encodable {
    var id: String
    var name: String
    var created: Int64
    var revoked: Bool
    var token: String?

    init(_ row: OperatorToken, token: String? = nil) {
        id = row.id
        name = row.name
        created = row.created
        revoked = row.isRevoked
        self.token = token
    }
}
