import ArgumentParser
import Foundation

/// The `welkin` program and its subcommands.
@main
struct WelkinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "welkin",
        abstract: "An open CloudKit: runs the cloud, manages its accounts and tokens, and signs in this machine.",
        discussion: """
            Start a cloud with `welkin serve`. The commands for accounts, tokens and keys work on the cloud's data folder, \
            also while it runs. The commands `sign-up`, `login`, `logout`, `status`, `devices`, `password`, `recover`, `address`, `discovery`, `consent`, `keychain`, `restorations`, `share`, \
            `open` and `link-handler` work on a device that uses a cloud.
            """,
        version: VersionText.text,
        subcommands: [
            ServeCommand.self, AccountCommand.self, InvitationCommand.self, TokenCommand.self, KeyCommand.self,
            KeysCommand.self,
            BackupCommand.self, RestoreCommand.self, UpgradeCommand.self, CheckCommand.self, CompactCommand.self,
            ZoneCommand.self,
            RecordCommand.self, SchemaCommand.self, FaultCommand.self,
            AdminCommand.self, LogsCommand.self, AlertsCommand.self, ConfigCommand.self, StoreCommand.self,
            SignUpCommand.self, LoginCommand.self, LogoutCommand.self, StatusCommand.self, DevicesCommand.self,
            PasswordCommand.self, RecoverCommand.self,
            AddressCommand.self, DiscoveryCommand.self, ConsentCommand.self, KeychainCommand.self,
            RestorationsCommand.self,
            ShareCommand.self,
            AuditCommand.self,
            OpenCommand.self,
            LinkHandlerCommand.self,
            QuickstartCommand.self,
        ])

    /// Runs the program with its arguments, and `serve` with its settings from the environment and a file as well.
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            let environment = ProcessInfo.processInfo.environment
            await main(try ServeSettings.complete(arguments, environment: environment))
        } catch {
            exit(withError: error)
        }
    }
}
