import ArgumentParser
import CloudKitDevice
import Foundation

/// Signs this device in.
struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Sign this device in to a cloud.",
        discussion: """
            The password never leaves this machine: the cloud gets a proof derived from it. The first device makes the keys \
            of the account's encrypted data and shows recovery words; further devices open the keys with the password \
            alone. Credentials and keys are kept in the profile's folder, readable by you only.
            """)

    @OptionGroup var device: DeviceOptions
    @Option(help: "The account's e-mail address.") var email: String
    @OptionGroup var passwordOptions: PasswordOptions
    @OptionGroup var deviceName: DeviceNameOption
    @OptionGroup var roundsOption: RoundsOption
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let password = try passwordOptions.read(isNew: false)
        let signIn = SignIn(configuration: configuration, rounds: roundsOption.rounds, send: WebSend.send)
        let outcome = try await signIn.signIn(
            email: email, password: password, deviceName: deviceName.deviceName, container: container)
        try StatusReport(configuration).show(json: json, signedIn: outcome)
    }
}

/// How the account's owner sees a device.
struct DeviceNameOption: ParsableArguments {
    @Option(help: "How the account's owner sees this device.")
    var deviceName: String = ProcessInfo.processInfo.hostName
}
