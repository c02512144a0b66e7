import ArgumentParser
import CloudKitDevice

/// Opens a link to a share: shows what it is, asks, accepts, and leaves it for the app.
struct OpenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open", abstract: "Open a link to a share, and take part in it.",
        discussion: """
            Shows title and owner and asks before anything is accepted. The app of the share's container learns of it when it \
            runs. What stands behind the # of a link stays on this device.
            """)

    @OptionGroup var device: DeviceOptions
    @Argument(help: ArgumentHelp("The link.", valueName: "url")) var link: String
    @Flag(help: "Accept without asking.") var yes = false

    func run() async throws {
        let signIn = SignIn(configuration: try device.configuration(), send: WebSend.send)
        let share = try await signIn.linkedShare(link)
        Output.table([
            ["Share", share.title ?? "without a title"], ["Owner", share.isOwner ? "you" : share.owner ?? "unknown"],
            ["App", share.container],
            ["Access", share.permission == "READ_WRITE" ? "read and write" : "read"],
        ])
        if !share.isAccepted, !share.isOwner, !yes {
            guard Confirmation.ask("Take part in this share? Type yes: ") else {
                throw CommandFailure("nothing was accepted")
            }
        }
        try await signIn.accept(share)
        Output.remark("The share is in the shared database of \(share.container).")
    }
}
