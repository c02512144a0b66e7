import ArgumentParser
import CloudKitDevice
import Foundation

/// Signs this device in.
struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Sign in this device to a cloud.",
        discussion: """
            The password never leaves this machine: the cloud receives a proof derived from it. The first device creates the \
            keys of the account's encrypted data and shows recovery words; other devices open the keys with the password. \
            Credentials and keys are stored in the profile's folder, readable only by you.
            """)

    @OptionGroup var device: DeviceOptions
    @Option(help: "The account's e-mail address.") var email: String
    @OptionGroup var passwordOptions: PasswordOptions
    @OptionGroup var deviceName: DeviceNameOption
    @OptionGroup var roundsOption: RoundsOption
    @Flag(help: "Take back the wish that the account is deleted.") var keepAccount = false
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let password = try passwordOptions.read(isNew: false)
        let signIn = SignIn(configuration: configuration, rounds: roundsOption.rounds, send: WebSend.send)
        let outcome = try await signIn.signIn(
            email: email, password: password, deviceName: deviceName.deviceName, container: container,
            keepsAccount: keepAccount)
        try StatusReport(configuration).show(json: json, signedIn: outcome)
    }
}

/// The option for a device's name.
struct DeviceNameOption: ParsableArguments {
    @Option(help: "The name of this device in the account's list.")
    var deviceName: String = ProcessInfo.processInfo.hostName
}
