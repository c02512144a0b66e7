import ArgumentParser
import CloudKitDevice
import Foundation

/// Signs this device in.
struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Sign this device in to a cloud.",
        discussion: """
            The password never leaves this machine: the cloud gets a proof derived from it. Credentials are kept in the \
            profile's folder, readable by you only.
            """)

    @OptionGroup var device: DeviceOptions
    @Option(help: "The account's e-mail address.") var email: String
    @OptionGroup var passwordOptions: PasswordOptions
    @Option(help: "How the account's owner sees this device.")
    var deviceName: String = ProcessInfo.processInfo.hostName
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let password = try passwordOptions.read(isNew: false)
        _ = try await SignIn(configuration: configuration, send: WebSend.send).signIn(
            email: email, password: password, deviceName: deviceName, container: container)
        try StatusReport(configuration).show(json: json)
    }
}
