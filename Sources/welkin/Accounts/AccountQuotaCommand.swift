import ArgumentParser
import CloudKitAccounts
import CloudKitModel

/// Shows or sets the space of one account, in all containers or one, or sets that of a group or of a container.
struct AccountQuotaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quota",
        abstract: "Show or set the space of one account, a group, or each account in a container.",
        discussion: """
            The bytes of records and assets that the account may keep in the private database of each container, in place of \
            the quota of `welkin serve --quota-bytes`. With --container it counts in that container alone, and comes before the account's other quota; \
            with --container and no address it is that of all accounts there which have none of their own. Saves beyond it fail with quotaExceeded; what is stored already stays. A \
            running cloud applies the change within a second.
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address; left out with --group, and for a container's own quota.") var email:
        String?
    @Argument(
        help: "The bytes; none: no limit, even if the cloud has one; default: the cloud's. Shows the quota if omitted.")
    var quota: AccountQuota?
    @Option(help: ArgumentHelp("Set the quota of all accounts of this group.", valueName: "name"))
    var group: AccountGroup?

    @Option(help: ArgumentHelp("Show or set the quota in this container alone.", valueName: "container"))
    var container: String?

    /// With a group, and for a container, the quota is the only argument.
    private var onlyQuota: AccountQuota? { quota == nil ? email.flatMap { AccountQuota(argument: $0) } : nil }

    func validate() throws {
        guard group != nil || email != nil || container != nil else {
            throw ValidationError("Give an e-mail address, --group or --container.")
        }
        guard group == nil || onlyQuota != nil else {
            throw ValidationError("With --group give the quota alone: bytes, none or default.")
        }
        guard group == nil || container == nil else {
            throw ValidationError("--group and --container exclude each other.")
        }
        guard try containerID == nil || quota != nil || email?.contains("@") ?? true || onlyQuota != nil else {
            throw ValidationError("With --container give an e-mail address, a quota (bytes, none or default), or both.")
        }
    }

    func run() async throws {
        if let group, let quota = onlyQuota { return try await set(quota, group) }
        if let container = try containerID, onlyQuota != nil || email == nil {
            return try await runOnContainer(container, onlyQuota)
        }
        guard let email else { return }
        let container = try containerID
        let current = try await DataFolder.with(folder) { folder in
            let accounts = folder.accountStore.accounts
            if let quota {
                try await folder.order("accounts/quota", in: container, of: email, details: ["quota": quota.argument]) {
                    if let container {
                        try await accounts.setQuota(quota, email: email, in: container)
                    } else {
                        try await accounts.setQuota(quota, email: email)
                    }
                }
            }
            guard let account = try await accounts.account(email: email) else { throw AccountError.notFound(email) }
            return container.map { account.quota(in: $0.name) } ?? account.quota
        }
        let place = container.map { " in \($0.name)" } ?? ""
        Output.result(quota == nil ? current.argument : "Quota of \(email)\(place): \(current.argument).")
    }

    private var containerID: ContainerID? {
        get throws {
            try container.map { name in
                try ContainerOptions.check(name)
                return ContainerID(name)
            }
        }
    }

    /// Shows or sets the quota of each account in a container.
    private func runOnContainer(_ container: ContainerID, _ quota: AccountQuota?) async throws {
        let current = try await DataFolder.with(folder) { folder in
            let accounts = folder.accountStore.accounts
            if let quota {
                try await folder.order("accounts/quota", in: container, details: ["quota": quota.argument]) {
                    try await accounts.setQuota(quota, in: container)
                }
            }
            return try await accounts.quota(in: container)
        }
        Output.result(
            quota == nil
                ? current.argument : "Quota of each account in \(container.name): \(current.argument).")
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
