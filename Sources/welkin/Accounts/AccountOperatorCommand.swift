import ArgumentParser
import CloudKitAccounts
import CloudKitModel

/// Makes an account that of an operator, or ends that.
struct AccountOperatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "operator", abstract: "Let an account sign in to the Console, or no longer.",
        discussion: """
            The person signs in at /console with the account's password. Without on or off the command lists the operators. A \
            running cloud applies the change at once.
            """)

    enum Setting: String, ExpressibleByArgument, CaseIterable {
        case on, off
    }

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String?
    @Argument(help: "on or off.") var setting: Setting?
    @Option(help: "The only container that the operator sees and changes.") var container: String?
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        guard (email == nil) == (setting == nil) else { throw ValidationError("Give an e-mail address and on or off.") }
        guard container == nil || setting == .on else { throw ValidationError("--container goes with on.") }
    }

    func run() async throws {
        guard let email, let setting else { return try await list() }
        try await DataFolder.with(folder) { folder in
            let role = setting == .on ? container ?? "all" : "none"
            try await folder.order("accounts/operator", of: email, details: ["role": role]) {
                try await folder.accountStore.operatorAccounts
                    .set(setting == .on, email: email, container: container.map { ContainerID($0) })
            }
        }
        Output.result("\(email) is \(setting == .on ? "an operator" : "no operator") now.")
    }

    private func list() async throws {
        let lines = try await DataFolder.with(folder) { folder in
            try await folder.accountStore.operatorAccounts.list().map { OperatorLine($0.account, $0.role) }
        }
        if json { return try Output.json(lines) }
        guard !lines.isEmpty else { return Output.remark("No account is an operator's.") }
        Output.table([["E-MAIL", "CONTAINER"]] + lines.map { [$0.email, $0.container ?? "all"] })
    }

    private struct OperatorLine: Encodable {
        var email: String
        var container: String?

        init(_ account: Account, _ role: OperatorAccount) {
            email = account.email
            container = role.container
        }
    }
}
