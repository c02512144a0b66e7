import ArgumentParser
import CloudKitAccounts

/// Shows or sets the space of one account, or sets that of a group.
struct AccountQuotaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quota", abstract: "Show or set the space of one account, or set that of a group.",
        discussion: """
            The bytes of records and assets that the account may keep in the private database of each container, in place of \
            the quota of `welkin serve --quota-bytes`. Saves beyond it fail with quotaExceeded; what is stored already stays. A \
            running cloud applies the change within a second.
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address; left out with --group.") var email: String?
    @Argument(
        help: "The bytes; none: no limit, even if the cloud has one; default: the cloud's. Shows the quota if omitted.")
    var quota: AccountQuota?
    @Option(help: ArgumentHelp("Set the quota of all accounts of this group.", valueName: "name"))
    var group: AccountGroup?

    /// With a group, the quota is the only argument.
    private var groupQuota: AccountQuota? { quota == nil ? email.flatMap { AccountQuota(argument: $0) } : nil }

    func validate() throws {
        guard group != nil || email != nil else { throw ValidationError("Give an e-mail address, or --group.") }
        guard group == nil || groupQuota != nil else {
            throw ValidationError("With --group give the quota alone: bytes, none or default.")
        }
    }

    func run() async throws {
        if let group, let quota = groupQuota { return try await set(quota, group) }
        guard let email else { return }
        let current = try await DataFolder.with(folder) { folder in
            let accounts = folder.accountStore.accounts
            if let quota {
                try await folder.order("accounts/quota", of: email, details: ["quota": quota.argument]) {
                    try await accounts.setQuota(quota, email: email)
                }
            }
            guard let account = try await accounts.account(email: email) else { throw AccountError.notFound(email) }
            return account.quota
        }
        Output.result(quota == nil ? current.argument : "Quota of \(email): \(current.argument).")
    }

    private func set(_ quota: AccountQuota, _ group: AccountGroup) async throws {
        let count = try await DataFolder.with(folder) { folder in
            try await folder.order("accounts/quota", details: ["group": group.name, "quota": quota.argument]) {
                try await folder.accountStore.accounts.setQuota(quota, group: group)
            }
        }
        Output.result("Quota of \(AccountChoice.words(count)): \(quota.argument).")
    }
}

extension AccountQuota: ExpressibleByArgument {
    /// Creates the quota that an argument names; nil for any other text.
    public init?(argument: String) { self.init(text: argument) }

    /// The argument that names this quota.
    var argument: String { text }
}
