import ArgumentParser
import CloudKitDevice

/// Lets operators see the private data of the account that this device is signed in to.
struct ConsentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "consent", abstract: "Let operators of the cloud see your private data, for some time.",
        discussion: """
            Operators see the structure of your private database: names, types, counts and sizes, not the values of fields. With a \
            token that you make and give them they see in the Console what the cloud itself can read; what your devices have sealed \
            stays sealed. A token is for one container and environment and ends by itself.
            """,
        subcommands: [CreateConsentCommand.self, ListConsentsCommand.self, RevokeConsentCommand.self])
}

struct CreateConsentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "create", abstract: "Print a token for an operator.")

    @OptionGroup var device: DeviceOptions
    @Option(
        name: .customLong("for"), help: ArgumentHelp("How long, such as 30m, 1h or 2d; at most 7d.", valueName: "time"))
    var time: String = "1h"
    @Flag(help: "Let the operator change and delete records as well.") var allowChanges = false
    @Flag(help: "Print JSON.") var json = false

    func validate() throws { _ = try seconds() }

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let token = try await SignIn(configuration: configuration, send: WebSend.send)
            .createConsent(seconds: try seconds(), allowsChanges: allowChanges, container: container)
        if json { return try Output.json(["token": token]) }
        Output.result(token)
        Output.remark("Give it to the operator. It ends in \(time); take it back with: welkin consent revoke all")
    }

    private func seconds() throws -> Int {
        let units: [Character: Int] = ["m": 60, "h": 3600, "d": 86_400]
        guard let unit = time.last.flatMap({ units[$0] }), let count = Int(time.dropLast()), count > 0,
            count <= 7 * 86_400 / unit
        else { throw ValidationError("--for is a time of at most 7 days, such as 30m, 1h or 2d.") }
        return count * unit
    }
}

struct ListConsentsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the tokens that are not over.")

    @OptionGroup var device: DeviceOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let (configuration, container) = try device.signIn()
        let consents = try await SignIn(configuration: configuration, send: WebSend.send).consents(container: container)
        if json { return try Output.json(consents) }
        guard !consents.isEmpty else { return Output.remark("No operator may see your private data.") }
        Output.table(
            [["ID", "CONTAINER", "ENVIRONMENT", "SINCE", "UNTIL", "CHANGES"]]
                + consents.map {
                    [
                        $0.id, $0.container, $0.environment, Output.time($0.created), Output.time($0.expires),
                        $0.allowsChanges ? "allowed" : "no",
                    ]
                })
    }
}

struct RevokeConsentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "revoke", abstract: "Take a token back.")

    @OptionGroup var device: DeviceOptions
    @Argument(help: "The token's id, its first digits, or all.") var id: String

    func run() async throws {
        let (configuration, container) = try device.signIn()
        try await SignIn(configuration: configuration, send: WebSend.send).revokeConsent(id, container: container)
        Output.result("Taken back.")
    }
}
