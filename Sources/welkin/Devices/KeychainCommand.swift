import ArgumentParser
import CloudKitDevice

/// The keys of the account's encrypted data.
struct KeychainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keychain", abstract: "The keys of your account's encrypted data, and those of others.",
        subcommands: [RecoveryWordsCommand.self, ResetKeychainCommand.self, TrustCommand.self])
}

struct RecoveryWordsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "words", abstract: "Make new recovery words; the old ones are then worth nothing.")

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
        commandName: "reset", abstract: "Begin anew with other keys; everything encrypted is lost.",
        discussion: """
            For when neither a device nor the recovery words open the keys any more. Other devices have to sign in again; \
            apps are told that the encrypted zones are gone, and save anew what they still have.
            """)

    @OptionGroup var device: DeviceOptions
    @OptionGroup var passwordOptions: PasswordOptions
    @OptionGroup var roundsOption: RoundsOption
    @Flag(help: "Do it without asking.") var yes = false
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let (configuration, container) = try device.signIn()
        guard yes || Confirmation.ask("Everything encrypted is lost for good. Type yes to go on: ") else {
            throw CommandFailure("Nothing was done. Give --yes to do it without asking.")
        }
        let password = try passwordOptions.read(isNew: false)
        let words = try await SignIn(configuration: configuration, rounds: roundsOption.rounds, send: WebSend.send)
            .resetKeychain(password: password, container: container)
        if json { return try Output.json(["recoveryWords": words]) }
        Output.result("The account has new keys.")
        RecoverySheet.show(words)
    }
}
