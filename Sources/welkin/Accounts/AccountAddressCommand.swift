import ArgumentParser
import CloudKitAccounts

/// Shows whether addresses are proved, or notes that the operator knows them.
struct AccountAddressCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "address", abstract: "Show whether an account's address is proved, or note that it is.",
        discussion: """
            A cloud that sends mail lets people share by address with those alone who have opened a link that was mailed to them. Note yourself \
            which addresses you know to be people's own: those of a directory, or all accounts when the cloud begins to send mail. A running \
            cloud applies it at once.
            """)

    enum Setting: String, ExpressibleByArgument, CaseIterable {
        case proved, unproved
    }

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address; left out with --group and --all.") var email: String?
    @Argument(help: "proved or unproved; shows which if omitted.") var setting: Setting?
    @Option(help: ArgumentHelp("All accounts of this group.", valueName: "name")) var group: AccountGroup?
    @Flag(help: "All accounts.") var all = false

    /// Without an address, the setting is the only argument.
    private var common: Setting? { setting == nil ? email.flatMap { Setting(rawValue: $0) } : nil }

    func validate() throws {
        guard group == nil || !all else { throw ValidationError("Give --group or --all, not both.") }
        if group != nil || all {
            guard common != nil else { throw ValidationError("With --group and --all give proved or unproved alone.") }
        } else {
            guard email != nil else { throw ValidationError("Give an e-mail address, --group or --all.") }
        }
    }

    func run() async throws {
        if group != nil || all, let common { return try await set(common) }
        guard let email else { return }
        let isProved = try await DataFolder.with(folder) { folder in
            let accounts = folder.accountStore.accounts
            if let setting {
                try await folder.order("accounts/address", of: email, details: ["address": setting.rawValue]) {
                    try await accounts.setEmailProved(setting == .proved, email: email)
                }
            }
            guard let account = try await accounts.account(email: email) else { throw AccountError.notFound(email) }
            return account.isEmailProved
        }
        Output.result((isProved ? Setting.proved : .unproved).rawValue)
    }

    private func set(_ setting: Setting) async throws {
        let count = try await DataFolder.with(folder) { folder in
            try await folder.order(
                "accounts/address", details: ["group": group?.name ?? "all", "address": setting.rawValue]
            ) {
                try await folder.accountStore.accounts.setEmailProved(setting == .proved, group: group)
            }
        }
        Output.result("\(AccountChoice.words(count)): \(setting.rawValue).")
    }
}
