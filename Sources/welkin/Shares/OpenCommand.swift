import ArgumentParser
import CloudKitDevice
import Foundation

/// Opens a share link: shows the share, asks for confirmation, and passes it to the app, which accepts it.
struct OpenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open", abstract: "Open a share link with its app.",
        discussion: """
            Shows the title and the owner and asks for confirmation. The app of the share's container receives the link \
            immediately if it runs, otherwise when it starts, and accepts the share; with --accept this command accepts it. \
            Uses the link's cloud and the account of the profile that is signed in there. The part of a link after the # \
            stays on this device. `welkin link-handler install` makes the desktop open links this way.
            """)

    @OptionGroup var device: DeviceOptions
    @Argument(help: ArgumentHelp("The link.", valueName: "url")) var link: String
    @Flag(help: "Accept the share without waiting for the app.") var accept = false
    @Flag(help: "Do not ask for confirmation.") var yes = false
    @Flag(help: "Wait for Return at the end, so that the window stays open.") var hold = false

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
        let isParticipant = share.isAccepted || share.isOwner
        if !isParticipant, !yes { try ask(share) }
        if accept {
            try await signIn.accept(share)
        } else {
            try signIn.deliver(share)
        }
        if !share.isOwner, isParticipant || accept {
            Output.remark("The share is in the shared database of \(share.container).")
        }
        Output.remark(
            "The app receives the link as soon as it runs\(isParticipant || accept ? "" : ", and accepts it").")
        if !isParticipant, !accept { Output.remark("To accept it without the app, open the link with --accept.") }
    }

    private func ask(_ share: LinkedShare) throws {
        let question = accept ? "Accept this share?" : "Open this share with the app?"
        guard !Confirmation.ask(question + " Type yes: ") else { return }
        let hint = Confirmation.isPossible ? "" : "; without a terminal, pass --yes"
        throw CommandFailure("nothing was \(accept ? "accepted" : "opened")\(hint)")
    }
}
