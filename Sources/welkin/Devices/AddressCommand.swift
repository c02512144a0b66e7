import ArgumentParser
import CloudKitDevice

/// Shows whether the address of the account is proved, has a link mailed to it, or proves it.
struct AddressCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "address", abstract: "Show whether your account's address is proved, or prove it.",
        discussion: """
            A cloud that sends mail lets others share with you by your address once you have opened a link that was mailed to it. --send has \
            one mailed, --prove takes it where there is no browser.
            """)

    @OptionGroup var device: DeviceOptions
    @Flag(help: "Have a link mailed to the address.") var send = false
    @Option(help: ArgumentHelp("Prove the address with the link of the mail.", valueName: "link")) var prove: String?
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        guard prove == nil || !send else { throw ValidationError("Give --send or --prove, not both.") }
    }

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let signIn = SignIn(configuration: configuration, send: WebSend.send)
        let address =
            if let prove {
                try await signIn.proveAddress(
                    code: prove.split(separator: "#").last.map(String.init) ?? "", container: container)
            } else {
                try await signIn.address(sendsLink: send, container: container)
            }
        if json {
            return try Output.json(
                Line(email: address.email, isProved: address.isProved, isRequired: address.isRequired))
        }
        let state =
            address.isProved ? "proved" : address.isRequired ? "not proved" : "not proved; this cloud sends no mail"
        Output.result("\(address.email): \(state)")
        if send, !address.isProved {
            Output.remark("A link was mailed to \(address.email). Open it within three days.")
        }
        if !send, !address.isProved, address.isRequired {
            Output.remark(
                "Others cannot share with you by this address yet. Have a link mailed with: welkin address --send")
        }
    }

    private struct Line: Encodable {
        var email: String
        var isProved: Bool
        var isRequired: Bool
    }
}
