import ArgumentParser
import CloudKitAccounts
import CloudKitDevice
import CloudKitServer

/// Manages the accounts that may sign in.
struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account", abstract: "Manage the accounts that may sign in, or your own.",
        subcommands: [
            AddAccountCommand.self, ListAccountsCommand.self, RemoveAccountCommand.self, DisableAccountCommand.self,
            EnableAccountCommand.self, SetPasswordCommand.self, AccountPhoneCommand.self, AccountQuotaCommand.self,
            AccountGroupCommand.self, AccountAddressCommand.self,
            AccountDevicesCommand.self, RevokeDeviceCommand.self, AccountOperatorCommand.self,
            DeleteOwnAccountCommand.self, ExportAccountCommand.self, ImportAccountCommand.self,
        ])
}

struct AddAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Create an account.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The e-mail address to sign in with.") var email: String
    @Option(help: "The user's name.") var name: String = ""
    @OptionGroup var passwordOptions: PasswordOptions
    @OptionGroup var roundsOption: RoundsOption
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let password = try passwordOptions.read(isNew: true)
        let account = try await DataFolder.with(folder) { folder in
            try await folder.order("accounts/create", of: email) {
                try await folder.accountStore.accounts.add(
                    email: email, name: name, password: password, rounds: roundsOption.rounds)
            }
        }
        if json {
            try Output.json(AccountLine(account))
        } else {
            Output.result("Account \(account.email) created.")
        }
    }
}

struct ListAccountsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the accounts.")

    @OptionGroup var folder: DataOptions
    @Option(help: ArgumentHelp("Only the accounts of this group.", valueName: "name")) var group: AccountGroup?
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let lines = try await DataFolder.with(folder) { folder in
            var lines: [AccountLine] = []
            let accounts = folder.accountStore.accounts
            let listed =
                if let group { try await accounts.list(group: group) } else { try await accounts.list() }
            for account in listed {
                let devices = try await folder.accountStore.sessions.sessions(of: account)
                lines.append(AccountLine(account, devices: devices.map(\.name)))
            }
            return lines
        }
        if json { return try Output.json(lines) }
        guard !lines.isEmpty else {
            return Output.remark(
                group.map { "No account is in the group \($0)." }
                    ?? "No accounts. Create one with: welkin account add EMAIL")
        }
        Output.table([["EMAIL", "NAME", "CREATED", "STATE", "QUOTA", "GROUP", "DEVICES"]] + lines.map(\.cells))
    }
}

struct RemoveAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove an account with its sign-ins, private records and files.",
        discussion: """
            Removes the private databases of all containers, in development and production, ends the user's shares, and \
            leaves the shares of other users. Records in public databases stay. With --keep-records the private records \
            stay in the store, but no user can read them. To keep everything and refuse sign-in, disable the account \
            instead.
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String
    @Flag(help: "Keep the private records in the store.") var keepRecords = false
    @Flag(help: "Do not ask for confirmation.") var yes = false

    /// The time within which a running cloud sees that the account is disabled.
    private static let pause = Duration.seconds(1)

    func run() async throws {
        try await DataFolder.with(folder) { folder in
            guard let account = try await folder.accountStore.accounts.account(email: email) else {
                throw AccountError.notFound(email)
            }
            let content = keepRecords ? "the account \(account.email)" : "\(account.email) and all private records"
            guard yes || Confirmation.ask("This removes \(content) permanently. Type yes to continue: ") else {
                throw CommandFailure("Nothing was changed. Pass --yes to skip the confirmation.")
            }
            let details = ["records": keepRecords ? "kept" : "removed"]
            try await folder.order("accounts/remove", of: account.email, details: details) {
                try await remove(account, in: folder)
            }
        }
        Output.result("Account \(email) removed.")
    }

    private func remove(_ account: Account, in folder: DataFolder) async throws {
        if !keepRecords {
            try await folder.accountStore.accounts.setDisabled(true, email: account.email)
            try await Task.sleep(for: Self.pause)
            let removed = try await RemoveAccountData(folder.cloud).run(ofAccount: account.id)
            Output.result("Private databases removed: \(removed.databases)")
            Output.result("Records in them: \(removed.records), files: \(removed.files)")
            Output.result("Shared zones left: \(removed.shares)")
        }
        try await folder.accountStore.accounts.remove(email: account.email)
    }
}

struct DisableAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable", abstract: "Disable an account, or a group, and keep the data.",
        discussion:
            "Requests of its devices and browsers are refused; a running cloud applies the change within a second.")

    @OptionGroup var folder: DataOptions
    @OptionGroup var choice: AccountChoice

    func run() async throws {
        Output.result(try await choice.setDisabled(true, in: folder, order: "accounts/disable") + " disabled.")
    }
}

struct EnableAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable", abstract: "Enable a disabled account, or a group.")

    @OptionGroup var folder: DataOptions
    @OptionGroup var choice: AccountChoice

    func run() async throws {
        Output.result(try await choice.setDisabled(false, in: folder, order: "accounts/enable") + " enabled.")
    }
}

struct SetPasswordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "password", abstract: "Set an account's password; devices stay signed in.",
        discussion: """
            The keys of the account's encrypted data stay wrapped with the old password, which is not needed here. To wrap \
            them with the new one, sign in again on a signed-in device, or run `welkin recover` with the recovery words.
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String
    @OptionGroup var passwordOptions: PasswordOptions
    @OptionGroup var roundsOption: RoundsOption

    func run() async throws {
        let password = try passwordOptions.read(isNew: true)
        try await DataFolder.with(folder) { folder in
            let derivation = folder.accountStore.accounts.newDerivation(rounds: roundsOption.rounds)
            let proof = try PasswordProof(password: password, salt: derivation.salt, rounds: derivation.rounds)
            try await folder.order("accounts/password", of: email) {
                try await folder.accountStore.accounts.setPassword(
                    proof: proof.bytes, derivation: derivation, email: email)
            }
        }
        Output.result("Password of \(email) set.")
    }
}

extension Accounts {
    /// Creates an account with a password, of which only a proof is stored.
    func add(email: String, name: String, password: String, rounds: Int) async throws -> Account {
        let derivation = newDerivation(rounds: rounds)
        let proof = try PasswordProof(password: password, salt: derivation.salt, rounds: derivation.rounds)
        return try await add(email: email, name: name, proof: proof.bytes, derivation: derivation)
    }
}

/// The row of an account in the list.
private struct AccountLine: Encodable {
    var email: String
    var name: String
    var created: Int64
    var disabled: Bool
    /// Bytes, `none` or `default`.
    var quota: String
    var group: String?
    var devices: [String]

    init(_ account: Account, devices: [String] = []) {
        email = account.email
        name = account.name
        created = account.created
        disabled = account.isDisabled
        quota = account.quota.argument
        group = account.group
        self.devices = devices
    }

    /// The row of the table.
    var cells: [String] {
        let state = disabled ? "disabled" : "active"
        return [email, name, Output.time(created), state, quota, group ?? "-", devices.joined(separator: ", ")]
    }
}
