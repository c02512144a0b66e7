import ArgumentParser
import CloudKitDevice

/// Creates an account and signs in this device.
struct SignUpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-up", abstract: "Create an account at a cloud and sign in this device.",
        discussion: """
            Works if the cloud's operator has opened sign-up, or with an invitation of the operator: --invitation takes its link, which also \
            names the cloud, or the code at the end of the link.
            """)

    @OptionGroup var device: DeviceOptions
    @Option(help: "The e-mail address to sign in with.") var email: String
    @Option(help: "Your name.") var name: String = ""
    @Option(help: ArgumentHelp("The link of an invitation, or its code.", valueName: "link"))
    var invitation: String?
    @OptionGroup var passwordOptions: PasswordOptions
    @OptionGroup var deviceName: DeviceNameOption
    @OptionGroup var roundsOption: RoundsOption
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let link = invitation.map { InvitationLink($0) }
        let (configuration, container) = try device.signIn(endpoint: link?.endpoint)
        let password = try passwordOptions.read(isNew: true)
        let signIn = SignIn(configuration: configuration, rounds: roundsOption.rounds, send: WebSend.send)
        try await signIn.signUp(
            email: email, name: name, password: password, container: container, invitation: link?.code)
        let outcome = try await signIn.signIn(
            email: email, password: password, deviceName: deviceName.deviceName, container: container)
        try StatusReport(configuration).show(json: json, signedIn: outcome)
    }
}
