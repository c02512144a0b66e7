import ArgumentParser
import CloudKitAccounts
import CloudKitModel
import CloudKitServer

/// Manages the zones of users.
struct ZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "zone", abstract: "Manage the zones of users.", subcommands: [PurgeZoneCommand.self])
}

struct PurgeZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge", abstract: "Remove a zone with its data, as a user does in the system's settings.",
        discussion: """
            Apps get the error that the user deleted the zone until they save it again. Works in development; pass \
            --production to purge users' real data.
            """)

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String
    @Argument(help: "The container, such as iCloud.com.example.app.") var container: String
    @Argument(help: "The zone's name.") var zone: String
    @Flag(help: "Purge in production instead of development.") var production = false

    func run() async throws {
        let environment: Environment = production ? .production : .development
        let container = ContainerID(container)
        try await DataFolder.with(folder) { folder in
            guard let account = try await folder.accountStore.accounts.account(email: email) else {
                throw AccountError.notFound(email)
            }
            guard let user = try await folder.accountStore.userNames.knownName(of: account.id, in: container) else {
                throw CommandFailure("\(email) has never used \(container.name).")
            }
            do {
                let details = ["user": user.recordName, "zone": zone]
                try await folder.order("zones/purge", in: container, environment, details: details) {
                    try await EndZone(folder.cloud).purge(zone, of: user, in: container, environment)
                }
            } catch let failure as RequestFailure {
                throw CommandFailure("\(zone) in \(environment.rawValue): \(failure.reason).")
            }
        }
        Output.result("Zone \(zone) of \(email) purged in \(environment.rawValue).")
    }
}
