import ArgumentParser
import CloudKitDevice

/// Shows and manages the shares of the account.
struct ShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share", abstract: "Show the panel of a share, and confirm who gets access to your shares.",
        subcommands: [SharePanelCommand.self, ConfirmShareCommand.self], defaultSubcommand: SharePanelCommand.self)
}

/// Confirms participants of shares whom no device of the account has confirmed.
struct ConfirmShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "confirm", abstract: "Confirm participants of your shares.",
        discussion: """
            A device gives the key of a share only to participants whom a device with keys added. A share or a participant that \
            a web client added, and a permission that it raised, waits until you confirm it here. Compare each fingerprint \
            with the one that `welkin status` shows the user. Confirmed participants get keys when an app on this device \
            next reads the share.
            """)

    @OptionGroup var device: DeviceOptions
    @Argument(help: ArgumentHelp("Only the participant with this address or user record name.", valueName: "person"))
    var person: String?
    @Flag(help: "Do not ask for confirmation.") var yes = false
    @Flag(help: "Print the questions as JSON and change nothing.") var json = false

    func run() async throws {
        let profile = try device.configuration().deviceProfile
        let questions = try profile.shareQuestions().open.filter { person == nil || $0.person == person }
        if json { return try Output.json(questions.map { ShareQuestionReport($0) }) }
        guard !questions.isEmpty else { return Output.remark("Nothing waits for confirmation.") }
        for question in questions {
            Output.table(ShareQuestionReport(question).rows)
            guard yes || Confirmation.ask("Is this participant to have access? Type yes: ") else {
                let hint = Confirmation.isPossible ? "" : "; without a terminal, pass --yes"
                Output.remark("Not confirmed\(hint).")
                continue
            }
            try profile.confirm([question])
            Output.remark("Confirmed. Keys are sealed when an app next reads the share.")
        }
    }
}
