import ArgumentParser
import CloudKitDevice
import Foundation

/// Saves a token for later calls.
struct SaveTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "save-token", abstract: "Save a management or user token.",
        discussion: """
            Without a token it is asked for without being shown, or read from the first line of standard input. A management token is made by \
            the operator with `welkin admin token create --container ID`. A user token is made here with --email and the account's \
            password. Tokens are kept in the file cktool of the configuration folder, which only its owner can read, each for the cloud that is \
            configured when it is saved.
            """)

    @Argument(help: "The token; asked for if omitted.") var token: String?
    @Option(help: "management or user; asked for if omitted.") var type: TokenKind?
    @Option(help: "file or keychain; on Linux both mean the file.") var method: TokenMethod = .keychain
    @Flag(help: "Replace a saved token without asking.") var force = false
    @OptionGroup var cloud: CloudOptions
    @OptionGroup var containerOption: ContainerOption
    @OptionGroup var environmentOption: EnvironmentOption
    @Option(help: "Sign this account in with its password and save the user token of the container.")
    var email: String?
    @Option(help: ArgumentHelp("The fewest rounds of PBKDF2 to accept; fewer only for tests.", visibility: .hidden))
    var rounds: Int = PasswordProof.roundsDefault

    func validate() throws {
        guard email == nil || (token == nil && type != .management) else {
            throw ValidationError("--email makes a user token; give no other token or type.")
        }
    }

    func run() async throws {
        let kind = try email == nil ? kindOfToken() : .user
        let endpoint = try cloud.endpointIfAny
        let file = TokenFile()
        if !force, try file.token(kind, for: endpoint) != nil {
            try Prompt.confirm("Replace the saved \(kind.rawValue) token?", orGive: "--force")
        }
        let saved: String
        if let email {
            let place = try ContainerPlace(cloud, containerOption, environment: environmentOption.environment)
            saved = try await UserSignIn(place: place, roundsMin: rounds).token(email: email)
        } else {
            saved = try TokenOption.check(try token ?? askForToken(kind))
        }
        try file.save(saved, kind, for: endpoint)
        ToolOutput.remark("Saved the \(kind.rawValue) token\(endpoint.map { " for " + $0 } ?? "").")
    }

    private func kindOfToken() throws -> TokenKind {
        if let type { return type }
        let answer = try Prompt.ask("Type of token (management or user): ", orGive: "--type")
        guard let kind = TokenKind(rawValue: answer.lowercased()) else {
            throw ValidationError("The type of a token is management or user.")
        }
        return kind
    }

    private func askForToken(_ kind: TokenKind) throws -> String {
        let answer = Prompt.secret(kind == .management ? "Management token" : "User token")
        guard !answer.isEmpty else {
            throw ValidationError(
                "Interaction was required while running in non-interactive mode. Give the token on standard input.")
        }
        return answer
    }
}

/// Removes a saved token.
struct RemoveTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove-token", abstract: "Remove a saved token.",
        discussion: "The token stays valid; an operator revokes it with `welkin admin token revoke`.")

    @Option(help: "management or user.") var type: TokenKind
    @Option(help: "file or keychain; on Linux both mean the file.") var method: TokenMethod = .keychain
    @Flag(help: "Remove it without asking.") var force = false
    @OptionGroup var cloud: CloudOptions

    func run() async throws {
        let endpoint = try cloud.endpointIfAny
        let file = TokenFile()
        guard try file.token(type, for: endpoint) != nil else {
            throw ToolFailure("There is no saved \(type.rawValue) token\(endpoint.map { " for " + $0 } ?? "").")
        }
        if !force { try Prompt.confirm("Remove the saved \(type.rawValue) token?", orGive: "--force") }
        _ = try file.remove(type, for: endpoint)
        ToolOutput.remark("Removed the \(type.rawValue) token.")
    }
}

/// Shows what a management token is for, where Apple's tool lists teams.
struct GetTeamsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get-teams", abstract: "Check a management token.",
        discussion: """
            Prints a line for the cloud in the place of Apple's teams, which a Welkin cloud does not have: any --team-id is accepted.
            """)

    @OptionGroup var tokenOption: TokenOption
    @OptionGroup var cloud: CloudOptions

    /// What is shown where Apple's tool has a team's identifier.
    static let team = "WELKINTEAM"

    func run() async throws {
        let endpoint = try cloud.configuration().endpoint
        let management = ManagementClient(endpoint: endpoint, token: try tokenOption.find(.management, for: endpoint))
        let answer = try await management.send(method: "GET", "/admin/1/token")
        let reach = answer["container"]?.text ?? "all containers"
        ToolOutput.result("\(Self.team): \(endpoint), \(reach)".onOneLine)
    }
}
