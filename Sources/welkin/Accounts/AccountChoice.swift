import ArgumentParser
import CloudKitAccounts

/// The accounts that a command changes: one, or those of a group.
struct AccountChoice: ParsableArguments {
    @Argument(help: "The account's e-mail address.") var email: String?
    @Option(help: ArgumentHelp("All accounts of this group.", valueName: "name")) var group: AccountGroup?

    func validate() throws {
        guard (email == nil) != (group == nil) else {
            throw ValidationError("Give an e-mail address, or a group with --group.")
        }
    }
}

extension AccountGroup: ExpressibleByArgument {
    /// Creates the group that an argument names; nil for a text that cannot name one.
    public init?(argument: String) { self.init(argument) }
}

/// Shows the group of an account, or puts it into one.
struct AccountGroupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "group", abstract: "Show the group of an account, or put it into one.",
        discussion: """
            A group is a name by which you list accounts, set their quotas and disable them together: --group of list, quota, disable and \
            enable. Users do not see it.
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String
    @Argument(help: "The name of the group; shows the group if omitted.") var group: AccountGroup?
    @Flag(help: "Take the account out of its group.") var none = false

    func validate() throws {
        guard group == nil || !none else { throw ValidationError("Give the name of a group or --none, not both.") }
    }

    func run() async throws {
        let current = try await DataFolder.with(folder) { folder in
            let accounts = folder.accountStore.accounts
            if group != nil || none {
                try await folder.order("accounts/group", of: email, details: ["group": group?.name ?? "none"]) {
                    try await accounts.setGroup(group, email: email)
                }
            }
            guard let account = try await accounts.account(email: email) else { throw AccountError.notFound(email) }
            return account.group
        }
        Output.result(current ?? "none")
    }
}

extension AccountChoice {
    /// Disables the accounts, or enables them again.
    ///
    /// - Parameter order: The name of the order in the log.
    /// - Returns: The accounts in words.
    func setDisabled(_ isDisabled: Bool, in folder: DataOptions, order: String) async throws -> String {
        try await DataFolder.with(folder) { folder in
            let accounts = folder.accountStore.accounts
            guard let group else {
                let email = email ?? ""
                try await folder.order(order, of: email) { try await accounts.setDisabled(isDisabled, email: email) }
                return "Account \(email)"
            }
            let count = try await folder.order(order, details: ["group": group.name]) {
                try await accounts.setDisabled(isDisabled, group: group)
            }
            return Self.words(count)
        }
    }

    /// Returns a number of accounts in words.
    static func words(_ count: Int) -> String { count == 1 ? "1 account" : "\(count) accounts" }
}
