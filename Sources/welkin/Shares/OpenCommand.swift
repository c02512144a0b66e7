import ArgumentParser
import CloudKitDevice
import Foundation

/// Opens a link to a share: shows what it is, asks, and hands it to the app, which accepts.
struct OpenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open", abstract: "Open a link to a share with the app that it is for.",
        discussion: """
            Shows title and owner, and asks. The app of the share's container learns of the link at once if it runs, else when it \
            starts, and accepts the share; with --accept it is accepted here, for people without an app. The cloud is the link's; \
            the account is that of the profile that is signed in there. What stands behind the # of a link stays on this device. \
            `welkin link-handler install` makes the desktop open links this way.
            """)

    @OptionGroup var device: DeviceOptions
    @Argument(help: ArgumentHelp("The link.", valueName: "url")) var link: String
    @Flag(help: "Take part in the share, without waiting for the app.") var accept = false
    @Flag(help: "Do not ask.") var yes = false
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
        let takesPart = share.isAccepted || share.isOwner
        if !takesPart, !yes { try ask(share) }
        if accept {
            try await signIn.accept(share)
        } else {
            try signIn.handOver(share)
        }
        if !share.isOwner, takesPart || accept {
            Output.remark("The share is in the shared database of \(share.container).")
        }
        Output.remark("The app is told of the link as soon as it runs\(takesPart || accept ? "" : ", and accepts").")
        if !takesPart, !accept { Output.remark("To take part without the app, open the link with --accept.") }
    }

    private func ask(_ share: LinkedShare) throws {
        let question = accept ? "Take part in this share?" : "Open this share with the app?"
        guard !Confirmation.ask(question + " Type yes: ") else { return }
        let hint = Confirmation.isPossible ? "" : "; where nobody can be asked, say --yes"
        throw CommandFailure("nothing was \(accept ? "accepted" : "opened")\(hint)")
    }
}

extension String {
    /// What others wrote, fit for a terminal: nothing that moves the cursor or begins a line.
    fileprivate var onOneLine: String {
        String(unicodeScalars.map { $0.properties.generalCategory == .control ? " " : Character($0) })
    }
}
