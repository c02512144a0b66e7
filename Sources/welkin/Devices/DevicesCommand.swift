import ArgumentParser
import CloudKitDevice

/// Manages the devices of the account that this device is signed in to.
struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "Manage your account's devices.",
        subcommands: [
            ListDevicesCommand.self, ApproveDeviceCommand.self, RenameDeviceCommand.self, RevokeOwnDeviceCommand.self,
        ],
        defaultSubcommand: ListDevicesCommand.self)
}

struct ListDevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the devices and browsers that are signed in to your account.")

    @OptionGroup var device: DeviceOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let signIn = SignIn(configuration: configuration, send: WebSend.send)
        let devices = try await signIn.devices(container: container)
        if json { return try Output.json(devices) }
        Output.table(
            [["ID", "NAME", "KIND", "SINCE", "UNTIL", "KEYS"]]
                + devices.map {
                    [
                        String($0.deviceID.prefix(12)), $0.isCaller ? "\($0.name) (this one)" : $0.name,
                        $0.isBrowser ? "browser" : "device", Output.time($0.created), Output.time($0.expires),
                        $0.isBrowser ? "none" : $0.isOutdated ? "outdated" : "current",
                    ]
                })
        for request in (try? await signIn.keyRequests(container: container)) ?? [] {
            Output.remark("\(KeyRequestDialogue.name(of: request)) asks for the keys: welkin devices approve")
        }
    }
}

struct RevokeOwnDeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Sign out another device.",
        discussion: """
            The device loses access to your data. Keys that were copied from it still open what it could read: change the \
            password as well.
            """)

    @OptionGroup var device: DeviceOptions
    @Argument(help: "The device's id, or its first digits.") var id: String

    func run() async throws {
        let (configuration, container) = try device.signIn()
        try await SignIn(configuration: configuration, send: WebSend.send).revoke(id, container: container)
        Output.result("Signed out.")
    }
}

struct RenameDeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename", abstract: "Rename a device of your account.")

    @OptionGroup var device: DeviceOptions
    @Argument(help: "The device's id, or its first digits.") var id: String
    @Argument(help: "The new name, at most 100 characters.") var name: String

    func validate() throws {
        guard (1...100).contains(name.count) else { throw ValidationError("A device's name has 1 to 100 characters.") }
    }

    func run() async throws {
        let (configuration, container) = try device.signIn()
        try await SignIn(configuration: configuration, send: WebSend.send).rename(id, to: name, container: container)
        Output.result("Renamed.")
    }
}
