import ArgumentParser

/// The program's own name and what it can do.
@main
struct WelkinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "welkin",
        abstract: "An open CloudKit: the cloud, its accounts and tokens, and this machine's sign-in.",
        discussion: """
            Start a cloud with `welkin serve`. Commands for accounts, tokens and keys work on the cloud's data folder, \
            also while it runs. `sign-up`, `login`, `logout`, `status`, `devices`, `password`, `recover`, `keychain`, `open` \
            and `link-handler` are for a device that uses a cloud.
            """,
        subcommands: [
            ServeCommand.self, AccountCommand.self, TokenCommand.self, KeyCommand.self, KeysCommand.self,
            ZoneCommand.self, RecordCommand.self, SchemaCommand.self, FaultCommand.self, AdminCommand.self,
            SignUpCommand.self, LoginCommand.self, LogoutCommand.self, StatusCommand.self, DevicesCommand.self,
            PasswordCommand.self, RecoverCommand.self,
            KeychainCommand.self, OpenCommand.self, LinkHandlerCommand.self, QuickstartCommand.self,
        ])
}
