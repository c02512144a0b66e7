import ArgumentParser
import CloudKitServer

/// The keys of people's encrypted data, which the operator does not have and can only take away.
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "The keys of an account's encrypted data.", subcommands: [ResetKeysCommand.self])
}

struct ResetKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset", abstract: "Take an account's keychain away, as if all devices and words were lost.",
        discussion: """
            What was encrypted can never be read again. Zones that hold encrypted fields or assets answer with the reset \
            of their keys until an app deletes and saves them anew; devices have to sign in again, and the first that does \
            makes new keys. To try out how an app takes it.
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String
    @Flag(help: "Do it without asking.") var yes = false

    func run() async throws {
        guard yes || Confirmation.ask("Encrypted data of \(email) is lost for good. Type yes to go on: ") else {
            throw CommandFailure("Nothing was done. Give --yes to do it without asking.")
        }
        try await DataFolder.with(folder.data) { folder in
            try await folder.keychains.reset(email: email)
            try await FinishKeyResets(folder.cloud).run()
        }
        Output.result("The keychain of \(email) is gone; its devices have to sign in again.")
    }
}
