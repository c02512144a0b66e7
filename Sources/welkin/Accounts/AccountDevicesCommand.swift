import ArgumentParser
import CloudKitAccounts
import CloudKitServer

/// Lists the devices and browsers that are signed in to an account.
struct AccountDevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "List the devices and browsers of an account.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let lines = try await DataFolder.with(folder) { folder in
            guard let account = try await folder.accountStore.accounts.account(email: email) else {
                throw AccountError.notFound(email)
            }
            return try await folder.accountStore.sessions.sessions(of: account).map { SessionLine($0, of: account) }
        }
        if json { return try Output.json(lines) }
        guard !lines.isEmpty else { return Output.remark("\(email) is not signed in on any device.") }
        Output.table(
            [["ID", "NAME", "KIND", "SINCE", "UNTIL", "KEYS"]]
                + lines.map {
                    [
                        String($0.deviceID.prefix(12)), $0.name, $0.isBrowser ? "browser" : "device",
                        Output.time($0.created), Output.time($0.expires),
                        $0.isBrowser ? "none" : $0.isOutdated ? "outdated" : "current",
                    ]
                })
    }
}

/// Signs out a device of any account, as the operator.
struct RevokeDeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Sign out a device of an account.",
        discussion: "Its tokens become invalid; a running cloud applies the change within a second.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String
    @Argument(help: "The device's id, or its first digits.") var device: String

    func run() async throws {
        let revoked = try await DataFolder.with(folder) { folder in
            guard let account = try await folder.accountStore.accounts.account(email: email) else {
                throw AccountError.notFound(email)
            }
            return try await folder.order("devices/revoke", of: email) {
                try await folder.accountStore.sessions.revoke(device, ofAccount: account.id)
            }
        }
        switch revoked.count {
        case 1: Output.result("Device \(revoked[0].name) of \(email) signed out.")
        case 0:
            throw CommandFailure("\(email) has no device with this id. See: welkin account devices \(email)")
        default: throw CommandFailure("More than one device matches; give more digits.")
        }
    }
}
