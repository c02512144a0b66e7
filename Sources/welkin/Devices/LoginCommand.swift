import ArgumentParser
import CloudKitDevice
import Foundation

/// Signs this device in.
struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Sign in this device to a cloud.",
        discussion: """
            The password never leaves this machine: the cloud receives a proof derived from it. The first device creates the \
            keys of the account's encrypted data and shows recovery words; other devices open the keys with the password. \
            Credentials and keys are stored in the profile's folder, readable only by you.

            With --provider you sign in at the cloud's provider of identities, in your browser. The provider has nothing that opens encrypted \
            data: another device of yours approves this one (welkin devices approve), or you give the recovery words.
            """)

    @OptionGroup var device: DeviceOptions
    @Option(help: "The account's e-mail address.") var email: String?
    @Flag(help: "Sign in at the cloud's provider of identities, in the browser.") var provider = false
    @OptionGroup var providerOptions: ProviderSignInOptions
    @OptionGroup var passwordOptions: PasswordOptions
    @OptionGroup var deviceName: DeviceNameOption
    @OptionGroup var roundsOption: RoundsOption
    @Flag(help: "Take back the wish that the account is deleted.") var keepAccount = false
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        guard (email == nil) == provider else { throw ValidationError("Give --email, or --provider.") }
        try providerOptions.check(isProvider: provider)
    }

    func run() async throws {
        let (configuration, container) = try device.signIn()
        guard let email else { return try await signInAtProvider(configuration, container) }
        let password = try passwordOptions.read(isNew: false)
        let signIn = SignIn(configuration: configuration, rounds: roundsOption.rounds, send: WebSend.send)
        let outcome = try await signIn.signIn(
            email: email, password: password, deviceName: deviceName.deviceName, container: container,
            keepsAccount: keepAccount)
        try StatusReport(configuration).show(json: json, signedIn: outcome)
    }

    private func signInAtProvider(_ configuration: DeviceConfiguration, _ container: String) async throws {
        let signIn = SignIn(configuration: configuration, send: WebSend.send)
        let words = try providerOptions.wordsFile.map { try Secret.read(from: $0, asking: "Recovery words") }
        let arrival = try await providerOptions.arrive(signIn, container: container)
        guard arrival.hasAccount else {
            throw CommandFailure(
                "You have no account at this cloud yet. Make one on its page \(configuration.endpoint)/account, then sign in here."
            )
        }
        let outcome = try await signIn.signIn(
            arrival, words: words, deviceName: deviceName.deviceName, container: container, keepsAccount: keepAccount)
        if outcome.keys == .locked, !providerOptions.withoutKeys {
            Output.remark(
                "Signed in as \(outcome.credentials.email.onOneLine). Your encrypted data is not open here yet.")
            try await KeyRequestDialogue(signIn: signIn, container: container).ask()
        }
        try StatusReport(configuration).show(json: json, signedIn: outcome)
    }
}

/// The option for a device's name.
struct DeviceNameOption: ParsableArguments {
    @Option(help: "The name of this device in the account's list.")
    var deviceName: String = ProcessInfo.processInfo.hostName
}
