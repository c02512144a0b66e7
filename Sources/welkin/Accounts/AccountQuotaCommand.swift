import ArgumentParser
import CloudKitAccounts

/// Shows or sets the space of one account.
struct AccountQuotaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quota", abstract: "Show or set the space of one account.",
        discussion: """
            The bytes of records and assets that the account may keep in the private database of each container, in place of \
            the quota of `welkin serve --quota-bytes`. Saves beyond it fail with quotaExceeded; what is stored already stays. A \
            running cloud applies the change within a second.
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String
    @Argument(
        help: "The bytes; none: no limit, even if the cloud has one; default: the cloud's. Shows the quota if omitted.")
    var quota: AccountQuota?

    func run() async throws {
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
}

extension AccountQuota: ExpressibleByArgument {
    /// Creates the quota that an argument names; nil for any other text.
    public init?(argument: String) {
        switch argument {
        case "none": self = .unlimited
        case "default": self = .cloud
        default:
            guard let bytes = UInt64(argument) else { return nil }
            self = .bytes(bytes)
        }
    }

    /// The argument that names this quota.
    var argument: String {
        switch self {
        case .cloud: "default"
        case .bytes(let bytes): String(bytes)
        case .unlimited: "none"
        }
    }
}
