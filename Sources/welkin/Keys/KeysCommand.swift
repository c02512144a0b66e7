import ArgumentParser
import CloudKitAccounts
import CloudKitServer

/// Removes the keys of an account's encrypted data; the operator cannot read them.
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Manage the keys of an account's encrypted data.",
        subcommands: [ResetKeysCommand.self])
}

struct ResetKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset", abstract: "Remove an account's keychain, as if all devices and recovery words were lost.",
        discussion: """
            Encrypted data becomes permanently unreadable. Zones with encrypted fields or assets report the key reset until an \
            app deletes and saves them again; devices have to sign in again, and the first one creates new keys. Use it to \
            test how an app handles a reset.
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String
    @Flag(help: "Do not ask for confirmation.") var yes = false

    func run() async throws {
        guard yes || Confirmation.ask("Encrypted data of \(email) is lost permanently. Type yes to continue: ") else {
            throw CommandFailure("Nothing was changed. Pass --yes to skip the confirmation.")
        }
        try await DataFolder.with(folder) { folder in
            try await folder.order("accounts/keys/reset", of: email) {
                try await folder.accountStore.keychains(ProofLimiter()).reset(email: email)
                try await FinishKeyResets(folder.cloud).run()
            }
        }
        Output.result("The keychain of \(email) is removed; its devices have to sign in again.")
    }
}
