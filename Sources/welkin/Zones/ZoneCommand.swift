import ArgumentParser
import CloudKitModel
import CloudKitServer

/// What an operator may do to somebody's zones.
struct ZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "zone", abstract: "People's zones.", subcommands: [PurgeZoneCommand.self])
}

struct PurgeZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge", abstract: "Remove a zone with its data, as a user does in the system's settings.",
        discussion: """
            Apps are told that the user deleted the zone until they save it anew. Works in development; --production \
            says that you mean people's real data.
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String
    @Argument(help: "The container, such as iCloud.com.example.app.") var container: String
    @Argument(help: "The zone's name.") var zone: String
    @Flag(help: "In production instead of development.") var production = false

    func run() async throws {
        let environment: Environment = production ? .production : .development
        let container = ContainerID(container)
        try await DataFolder.with(folder.data) { folder in
            guard let account = try await folder.accounts.account(email: email) else {
                throw AccountError.notFound(email)
            }
            guard let user = try await folder.names.knownName(of: account.id, in: container) else {
                throw CommandFailure("\(email) has never been to \(container.name).")
            }
            do {
                try await EndZone(folder.cloud).purge(zone, of: user, in: container, environment)
            } catch let failure as RequestFailure {
                throw CommandFailure("\(zone) in \(environment.rawValue): \(failure.reason).")
            }
        }
        Output.result("Zone \(zone) of \(email) purged in \(environment.rawValue).")
    }
}
