import ArgumentParser
import CloudKitDevice

/// Changes the password of the account that this device is signed in to.
struct PasswordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "password", abstract: "Change your account's password.",
        discussion:
            "Devices stay signed in. Data is not encrypted again; only the keys are wrapped with the new password.")

    @OptionGroup var device: DeviceOptions
    @OptionGroup var passwordOptions: PasswordOptions
    @OptionGroup var newPassword: NewPasswordOptions
    @OptionGroup var roundsOption: RoundsOption

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let old = try passwordOptions.read(isNew: false)
        let new = try newPassword.read()
        try await SignIn(configuration: configuration, rounds: roundsOption.rounds, send: WebSend.send)
            .changePassword(from: old, to: new, container: container)
        Output.result("Password changed. Your devices stay signed in.")
    }
}

/// Sets a new password with the account's recovery words.
struct RecoverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover", abstract: "Set a new password with the recovery words and sign in this device.")

    @OptionGroup var device: DeviceOptions
    @Option(help: "The account's e-mail address.") var email: String
    @Option(
        help: ArgumentHelp(
            "Take the recovery words from the first line of a file; - is standard input.", valueName: "file"))
    var wordsFile: String?
    @OptionGroup var newPassword: NewPasswordOptions
    @OptionGroup var deviceName: DeviceNameOption
    @OptionGroup var roundsOption: RoundsOption
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let words = try Secret.read(from: wordsFile, asking: "Recovery words")
        let password = try newPassword.read()
        let signIn = SignIn(configuration: configuration, rounds: roundsOption.rounds, send: WebSend.send)
        let outcome = try await signIn.recover(
            email: email, words: words, password: password, deviceName: deviceName.deviceName, container: container)
        try StatusReport(configuration).show(json: json, signedIn: outcome)
    }
}
