import ArgumentParser
import CloudKitDevice

/// Lets others find the user of this device, or not.
struct DiscoveryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discovery", abstract: "Let other users of your apps find you, or not.",
        discussion: """
            With discovery on, users of an app that you have used can look up your e-mail address, your phone numbers and your \
            user record name, and see your name and that you use the app. Discovery is off until you turn it on. Invitations \
            to share do not depend on it. Without on or off the command shows the setting.
            """)

    enum Setting: String, ExpressibleByArgument, CaseIterable {
        case on, off
    }

    @OptionGroup var device: DeviceOptions
    @Argument(help: "on or off.") var setting: Setting?
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let signIn = SignIn(configuration: configuration, send: WebSend.send)
        if let setting { try await signIn.setDiscoverable(setting == .on, container: container) }
        let current = try await signIn.isDiscoverable(container: container)
        if json { return try Output.json(["isDiscoverable": current]) }
        switch current {
        case true?: Output.result("Discovery is on: users of your apps can find you.")
        case false?: Output.result("Discovery is off: you are not found.")
        case nil: Output.result("Discovery is off, because you have not decided. Turn it on with: welkin discovery on")
        }
    }
}
