import ArgumentParser
import CloudKitDevice

/// Confirms a user's new public identity.
struct TrustCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trust", abstract: "Confirm another user's public identity.",
        discussion: """
            The first identity of a user is pinned, and no share key is sealed to a later one. A user who reset the keys of \
            their account has a new identity. Ask them, by other means than this cloud, for the fingerprint that \
            `welkin status` shows them, and answer yes if it is the one shown here.
            """)

    @OptionGroup var device: DeviceOptions
    @Argument(help: ArgumentHelp("The user's e-mail address.", valueName: "address")) var address: String
    @Option(help: "The fingerprint that the user gave you; skips the confirmation.") var fingerprint: String?
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let signIn = SignIn(configuration: configuration, send: WebSend.send)
        let person = try await signIn.identity(ofAddress: address, container: container)
        if !json {
            Output.table([
                ["Known here", person.knownFingerprint ?? "none"], ["Now", person.fingerprint],
            ])
        }
        if !person.isKnown {
            try compare(person)
            try signIn.trust(person)
        }
        if json { return try Output.json(["fingerprint": person.fingerprint]) }
        Output.remark(
            person.isKnown
                ? "Nothing has changed." : "Keys are sealed to the new identity when an app next reads the share.")
    }

    private func compare(_ person: KnownIdentity) throws {
        if let fingerprint {
            guard person.hasFingerprint(fingerprint) else {
                throw CommandFailure(
                    "the cloud shows another fingerprint, \(person.fingerprint): the connection may be intercepted. "
                        + "Nothing was changed")
            }
        } else if !Confirmation.ask("Does the user see this fingerprint? Type yes: ") {
            let hint = Confirmation.isPossible ? "" : "; without a terminal, pass --fingerprint"
            throw CommandFailure("nothing was changed\(hint)")
        }
    }
}
