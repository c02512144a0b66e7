import ArgumentParser
import CloudKitDevice

/// Asks for the deletion of the account that this device is signed in to.
struct DeleteOwnAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete your account, from a device that is signed in to it.",
        discussion: """
            All of your devices are signed out at once. When the cloud's time for second thoughts is over (30 days unless its operator chose \
            another), your records, files, keys and sign-ins are deleted: your shares end for all who take part in them, and you leave the \
            shares of others. Until then others see and use your shares as before. Records that your apps saved in public databases stay. \
            To keep the account, sign in within the time: welkin login --keep-account. Operators remove accounts with: welkin account remove.
            """)

    @OptionGroup var device: DeviceOptions
    @OptionGroup var passwordOptions: PasswordOptions
    @OptionGroup var roundsOption: RoundsOption
    @Flag(help: "Do not ask for confirmation.") var yes = false

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let signIn = SignIn(configuration: configuration, rounds: roundsOption.rounds, send: WebSend.send)
        let days = Double(try await signIn.deletionGrace(container: container)) / 86_400
        let time = days < 1 ? "at once" : "in \(Int(days.rounded(.up))) days"
        Output.remark(
            "Your devices are signed out now. Your records, files and keys are deleted \(time); your shares end for all who take part in "
                + "them, and you leave those of others.")
        guard yes || Confirmation.ask("Type yes to delete the account: ") else {
            throw CommandFailure("Nothing was changed. Pass --yes to skip the confirmation.")
        }
        let password = try passwordOptions.read(isNew: false)
        let due = try await signIn.deleteAccount(password: password, container: container)
        Output.result("The account will be deleted from \(Output.time(due)) on.")
        if days > 0 { Output.remark("To keep it, sign in before: welkin login --keep-account") }
    }
}
