import ArgumentParser
import CloudKitDevice

/// Lets browsers read encrypted data after a sign-in, or not.
struct WebKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web", abstract: "Let browsers in which you sign in read your encrypted data, or not.",
        discussion: """
            A page in a browser opens your keys with your password, as a device does; the page's script comes from a server, and is trusted \
            with them. With off, the cloud hands the wrapped keys to no browser: pages see plain data only, and browsers that have the keys are \
            signed out. Without on or off the command shows the setting.
            """)

    @OptionGroup var device: DeviceOptions
    @Argument(help: "on or off.") var setting: DiscoveryCommand.Setting?
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let signIn = SignIn(configuration: configuration, send: WebSend.send)
        if let setting { try await signIn.setAllowsWebKeys(setting == .on, container: container) }
        let current = try await signIn.allowsWebKeys(container: container)
        if json { return try Output.json(["allowsWebKeys": current]) }
        Output.result(
            current
                ? "Browsers in which you sign in can read your encrypted data."
                : "No browser can read your encrypted data.")
    }
}
