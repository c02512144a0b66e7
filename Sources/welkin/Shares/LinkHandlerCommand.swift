import ArgumentParser
import CloudKitDevice
import Foundation

/// Which program the desktop opens links to shares with.
struct LinkHandlerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link-handler",
        abstract: "Let this desktop open links to shares with `welkin open`.",
        discussion: """
            The page of a share has a link that begins with welkin:. With the handler a click on it opens a terminal that shows \
            what is shared and by whom, and asks. Two files of yours are changed, nothing of the system's.
            """,
        subcommands: [ShowLinkHandlerCommand.self, InstallLinkHandlerCommand.self, RemoveLinkHandlerCommand.self],
        defaultSubcommand: ShowLinkHandlerCommand.self)
}

struct ShowLinkHandlerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show what opens links to shares.",
        discussion: "Exits with 1 unless this handler does.")

    func run() async throws {
        let handler = LinkHandler(variables: EnvironmentVariables.all)
        switch try handler.state() {
        case .installed(let entry):
            Output.result(handler.entryFile)
            Output.result("")
            Output.result(entry)
        case .missing:
            Output.remark("Nothing opens links to shares. Install the handler with: welkin link-handler install")
            throw ExitCode.failure
        case .other(let name):
            Output.remark(
                "\(name) opens links to shares. To have welkin open do so: welkin link-handler install")
            throw ExitCode.failure
        }
    }
}

struct InstallLinkHandlerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "install", abstract: "Install the handler.")

    @Option(help: "Whose credentials to use; else the profile that is signed in at the link's cloud.")
    var profile: String?

    func validate() throws {
        if let profile, !DeviceProfile.isValidName(profile) {
            throw ValidationError("--profile is a name of letters, digits, dots, hyphens and underscores.")
        }
    }

    func run() async throws {
        let handler = LinkHandler(variables: EnvironmentVariables.all)
        let program = Bundle.main.executablePath ?? CommandLine.arguments[0]
        guard program.hasPrefix("/") else {
            throw CommandFailure("where this program is cannot be told; start it by its whole path")
        }
        let profile = profile.map { ["--profile", $0] } ?? []
        try handler.install(command: [program, "open", "--hold"] + profile)
        Output.result("Links to shares open with \(program).")
        Output.remark("Wrote \(handler.entryFile)")
        Output.remark("Noted the preference in \(handler.associationsFile)")
        Output.remark("Take it back with: welkin link-handler remove")
    }
}

struct RemoveLinkHandlerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Take the handler away again; your other preferences stay.")

    func run() async throws {
        let changed = try LinkHandler(variables: EnvironmentVariables.all).remove()
        guard !changed.isEmpty else { return Output.remark("The handler was not installed.") }
        Output.result("The handler is gone.")
        for file in changed { Output.remark("Changed or removed \(file)") }
    }
}
