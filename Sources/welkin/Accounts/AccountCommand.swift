import ArgumentParser
import CloudKitDevice
import CloudKitServer

/// People who may sign in.
struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account", abstract: "People who may sign in.",
        subcommands: [
            AddAccountCommand.self, ListAccountsCommand.self, RemoveAccountCommand.self, DisableAccountCommand.self,
            EnableAccountCommand.self, SetPasswordCommand.self, AccountDevicesCommand.self, RevokeDeviceCommand.self,
        ])
}

struct AddAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Make an account.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The e-mail address to sign in with.") var email: String
    @Option(help: "The person's name.") var name: String = ""
    @OptionGroup var passwordOptions: PasswordOptions
    @OptionGroup var roundsOption: RoundsOption
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let password = try passwordOptions.read(isNew: true)
        let account = try await DataFolder.with(folder.data) { folder in
            try await folder.accounts.add(email: email, name: name, password: password, rounds: roundsOption.rounds)
        }
        if json {
            try Output.json(AccountLine(account))
        } else {
            Output.result("Account \(account.email) made.")
        }
    }
}

struct ListAccountsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Show every account.")

    @OptionGroup var folder: DataOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let lines = try await DataFolder.with(folder.data) { folder in
            var lines: [AccountLine] = []
            for account in try await folder.accounts.list() {
                let devices = try await folder.sessions.sessions(of: account)
                lines.append(AccountLine(account, devices: devices.map(\.name)))
            }
            return lines
        }
        if json { return try Output.json(lines) }
        guard !lines.isEmpty else { return Output.remark("No accounts. Make one with: welkin account add EMAIL") }
        Output.table(
            [["EMAIL", "NAME", "MADE", "STATE", "DEVICES"]]
                + lines.map {
                    [
                        $0.email, $0.name, Output.time($0.created), $0.disabled ? "disabled" : "active",
                        $0.devices.joined(separator: ", "),
                    ]
                })
    }
}

struct RemoveAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove an account with its sign-ins, private records and files.",
        discussion: """
            Private databases of all containers go, in development and production; what the person shared ends for \
            everybody, and they leave what others shared with them. Records in public databases stay. With --keep-records nobody can reach the private records any more, but they stay in the store. To keep \
            everything and let nobody in, disable the account instead.
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String
    @Flag(help: "Leave the private records in the store.") var keepRecords = false
    @Flag(help: "Do it without asking.") var yes = false

    /// A cloud that runs notices within a fraction of this that the account is disabled.
    private static let pause = Duration.seconds(1)

    func run() async throws {
        try await DataFolder.with(folder.data) { folder in
            guard let account = try await folder.accounts.account(email: email) else {
                throw AccountError.notFound(email)
            }
            let what = keepRecords ? "the account \(account.email)" : "\(account.email) and all private records"
            guard yes || Confirmation.ask("This removes \(what) for good. Type yes to go on: ") else {
                throw CommandFailure("Nothing was done. Give --yes to do it without asking.")
            }
            if !keepRecords {
                try await folder.accounts.setDisabled(true, email: account.email)
                try await Task.sleep(for: Self.pause)
                let removed = try await RemoveAccountData(folder.cloud).run(ofAccount: account.id)
                Output.result("Private databases removed: \(removed.databases)")
                Output.result("Records in them: \(removed.records), files: \(removed.files)")
                Output.result("Zones of others left: \(removed.shares)")
            }
            try await folder.accounts.remove(email: account.email)
        }
        Output.result("Account \(email) removed.")
    }
}

struct DisableAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable", abstract: "Switch an account off; its data stays.",
        discussion: "Its devices and browsers are refused at once, by a cloud that is running within a second.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String

    func run() async throws {
        try await DataFolder.with(folder.data) { try await $0.accounts.setDisabled(true, email: email) }
        Output.result("Account \(email) disabled.")
    }
}

struct EnableAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable", abstract: "Switch a disabled account on again.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String

    func run() async throws {
        try await DataFolder.with(folder.data) { try await $0.accounts.setDisabled(false, email: email) }
        Output.result("Account \(email) enabled.")
    }
}

struct SetPasswordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "password", abstract: "Set another password; devices stay signed in.",
        discussion: """
            The keys of the account's encrypted data stay wrapped by the old password, which you need not know. Signing in \
            anew on a device that is signed in, or `welkin recover` with the recovery words, brings keys and password \
            together again.
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String
    @OptionGroup var passwordOptions: PasswordOptions
    @OptionGroup var roundsOption: RoundsOption

    func run() async throws {
        let password = try passwordOptions.read(isNew: true)
        try await DataFolder.with(folder.data) { folder in
            let puzzle = folder.accounts.newPuzzle(rounds: roundsOption.rounds)
            let proof = try PasswordProof(password: password, salt: puzzle.salt, rounds: puzzle.rounds)
            try await folder.accounts.setPassword(proof: proof.bytes, puzzle: puzzle, email: email)
        }
        Output.result("Password of \(email) set.")
    }
}

extension Accounts {
    /// Makes an account with a password, of which only a proof goes into the book.
    func add(email: String, name: String, password: String, rounds: Int) async throws -> Account {
        let puzzle = newPuzzle(rounds: rounds)
        let proof = try PasswordProof(password: password, salt: puzzle.salt, rounds: puzzle.rounds)
        return try await add(email: email, name: name, proof: proof.bytes, puzzle: puzzle)
    }
}

/// An account as it is shown.
private struct AccountLine: Encodable {
    var email: String
    var name: String
    var created: Int64
    var disabled: Bool
    var devices: [String]

    init(_ account: Account, devices: [String] = []) {
        email = account.email
        name = account.name
        created = account.created
        disabled = account.isDisabled
        self.devices = devices
    }
}
