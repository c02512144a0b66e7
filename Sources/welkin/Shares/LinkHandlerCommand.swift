import ArgumentParser
import CloudKitDevice
import Foundation

/// Manages the desktop's handler of share links.
struct LinkHandlerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link-handler",
        abstract: "Manage the desktop's handler that opens share links with `welkin open`.",
        discussion: """
            The page of a share has a link that begins with welkin:. With the handler, clicking it opens a terminal that shows \
            the share and its owner and asks for confirmation. Changes two of your files and none of the system's.
            """,
        subcommands: [ShowLinkHandlerCommand.self, InstallLinkHandlerCommand.self, RemoveLinkHandlerCommand.self],
        defaultSubcommand: ShowLinkHandlerCommand.self)
}

struct ShowLinkHandlerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show the handler of share links.",
        discussion: "Exits with 1 unless this handler is installed.")

    func run() async throws {
        let handler = LinkHandler(variables: EnvironmentVariables.all)
        switch try handler.state() {
        case .installed(let entry):
            Output.result(handler.entryFile)
            Output.result("")
            Output.result(entry)
        case .missing:
            Output.remark("No handler opens share links. Install it with: welkin link-handler install")
            throw ExitCode.failure
        case .other(let name):
            Output.remark(
                "\(name) opens share links. To use welkin open instead: welkin link-handler install")
            throw ExitCode.failure
        }
    }
}

struct InstallLinkHandlerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "install", abstract: "Install the handler.")

    @Option(help: "The profile whose credentials to use; by default the one signed in at the link's cloud.")
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
            throw CommandFailure("the path of this program is unknown; start it with an absolute path")
        }
        let profile = profile.map { ["--profile", $0] } ?? []
        try handler.install(command: [program, "open", "--hold"] + profile)
        Output.result("Share links open with \(program).")
        Output.remark("Wrote \(handler.entryFile)")
        Output.remark("Set the preference in \(handler.associationsFile)")
        Output.remark("Undo with: welkin link-handler remove")
    }
}

struct RemoveLinkHandlerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove the handler; your other preferences stay.")

    func run() async throws {
        let changed = try LinkHandler(variables: EnvironmentVariables.all).remove()
        guard !changed.isEmpty else { return Output.remark("The handler was not installed.") }
        Output.result("The handler was removed.")
        for file in changed { Output.remark("Changed or removed \(file)") }
    }
}
