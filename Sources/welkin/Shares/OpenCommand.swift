import ArgumentParser
import CloudKitDevice
import Foundation

/// Opens a link to a share: shows what it is, asks, accepts, and leaves it for the app.
struct OpenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open", abstract: "Open a link to a share, and take part in it.",
        discussion: """
            Shows title and owner and asks before anything is accepted. The app of the share's container learns of it at once if it \
            runs, else when it starts. The cloud is the link's; the account is that of the profile that is signed in there. What \
            stands behind the # of a link stays on this device. `welkin link-handler install` makes the desktop open links this way.
            """)

    @OptionGroup var device: DeviceOptions
    @Argument(help: ArgumentHelp("The link.", valueName: "url")) var link: String
    @Flag(help: "Accept without asking.") var yes = false
    @Flag(help: "Wait for Return at the end, so that a window stays open.") var hold = false

    func run() async throws {
        defer { if hold { Confirmation.waitForReturn() } }
        do {
            try await open()
        } catch let error where hold {
            Output.remark("Error: \(error)")
            throw ExitCode.failure
        }
    }

    private func open() async throws {
        let configuration = try DeviceConfiguration.opening(
            try ShareAddress(link), endpoint: device.endpoint, variables: device.variables)
        let signIn = SignIn(configuration: configuration, send: WebSend.send)
        let share = try await signIn.linkedShare(link)
        Output.table([
            ["Share", (share.title ?? "without a title").onOneLine],
            ["Owner", share.isOwner ? "you" : (share.owner ?? "unknown").onOneLine],
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

extension String {
    /// What others wrote, fit for a terminal: nothing that moves the cursor or begins a line.
    fileprivate var onOneLine: String {
        String(unicodeScalars.map { $0.properties.generalCategory == .control ? " " : Character($0) })
    }
}
