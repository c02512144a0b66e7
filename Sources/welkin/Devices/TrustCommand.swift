import ArgumentParser
import CloudKitDevice

/// Says that somebody's new public identity is theirs.
struct TrustCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trust", abstract: "Say that somebody's public identity is the right one.",
        discussion: """
            Whom keys of shares are sealed to is remembered at first sight, and another identity later gets nothing. Somebody who \
            reset the keys of their account has another one. Ask them, by another way than this cloud, which fingerprint \
            `welkin status` shows them, and say yes if it is the one shown here.
            """)

    @OptionGroup var device: DeviceOptions
    @Argument(help: ArgumentHelp("The person's e-mail address.", valueName: "address")) var address: String
    @Option(help: "The fingerprint that they told you; with it nothing is asked.") var fingerprint: String?
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let signIn = SignIn(configuration: configuration, send: WebSend.send)
        let person = try await signIn.identity(ofAddress: address, container: container)
        if !json {
            Output.table([
                ["Known here", person.knownFingerprint ?? "nothing yet"], ["Now", person.fingerprint],
            ])
        }
        if !person.isKnown {
            try compare(person)
            try signIn.trust(person)
        }
        if json { return try Output.json(["fingerprint": person.fingerprint]) }
        Output.remark(
            person.isKnown
                ? "Nothing has changed." : "From now on keys are sealed to the new one when an app sees the share.")
    }

    private func compare(_ person: MetIdentity) throws {
        if let fingerprint {
            guard person.hasFingerprint(fingerprint) else {
                throw CommandFailure(
                    "the cloud shows another fingerprint, \(person.fingerprint): somebody may be between you. "
                        + "Nothing was done")
            }
        } else if !Confirmation.ask("Is that what they see? Type yes: ") {
            let hint = Confirmation.isPossible ? "" : "; where nobody can be asked, give --fingerprint"
            throw CommandFailure("nothing was done\(hint)")
        }
    }
}
