import ArgumentParser
import CloudKitDevice

/// Manages the keys of the account's encrypted data.
struct KeychainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keychain",
        abstract: "Manage the keys of your encrypted data and your trust in other users' keys.",
        subcommands: [
            RequestKeysCommand.self, RecoveryWordsCommand.self, ResetKeychainCommand.self, TrustCommand.self,
            WebKeysCommand.self,
        ])
}

struct RecoveryWordsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "words", abstract: "Create new recovery words and invalidate the old ones.")

    @OptionGroup var device: DeviceOptions
    @OptionGroup var passwordOptions: PasswordOptions
    @OptionGroup var roundsOption: RoundsOption
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let password = try passwordOptions.read(isNew: false)
        let words = try await SignIn(configuration: configuration, rounds: roundsOption.rounds, send: WebSend.send)
            .renewRecoveryWords(password: password, container: container)
        if json { return try Output.json(["recoveryWords": words]) }
        RecoverySheet.show(words)
    }
}

struct ResetKeychainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset", abstract: "Replace the keys; all encrypted data is lost.",
        discussion: """
            For an account whose keys neither a device nor the recovery words can open. Other devices have to sign in again; \
            apps learn that the encrypted zones are gone, and save again the records that they still have.
            """)

    @OptionGroup var device: DeviceOptions
    @OptionGroup var passwordOptions: PasswordOptions
    @OptionGroup var roundsOption: RoundsOption
    @Flag(help: "Do not ask for confirmation.") var yes = false
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let (configuration, container) = try device.signIn()
        guard yes || Confirmation.ask("All encrypted data is lost permanently. Type yes to continue: ") else {
            throw CommandFailure("Nothing was changed. Pass --yes to skip the confirmation.")
        }
        let password = try passwordOptions.read(isNew: false)
        let words = try await SignIn(configuration: configuration, rounds: roundsOption.rounds, send: WebSend.send)
            .resetKeychain(password: password, container: container)
        if json { return try Output.json(["recoveryWords": words]) }
        Output.result("The account has new keys.")
        RecoverySheet.show(words)
        guard case .temporarilyUnavailable = configuration.deviceProfile.accountState else { return }
        Output.result("This device could not sign in again. Do so with: welkin login")
    }
}
