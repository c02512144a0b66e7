import ArgumentParser
import CloudKitAccounts
import CloudKitDevice
import CloudKitModel
import CloudKitServer

/// Everything an app needs to be tried out, in one step.
struct QuickstartCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quickstart",
        abstract: "Make an account and an API token, and sign two devices in, to try an app out.",
        discussion: """
            Works on the data folder of a cloud that is running on this machine. Prints lines for the shell, so that \
            `eval "$(welkin quickstart)"` makes apps of this shell find the cloud as the first device; for the second set \
            CLOUDKIT_PROFILE.
            """)

    @OptionGroup var folder: DataOptions
    @Option(help: ArgumentHelp("Where the cloud listens.", valueName: "url"))
    var endpoint: String = "http://127.0.0.1:8080"
    @Option(help: "The app's container.") var container: String = "iCloud.com.example.app"
    @Option(help: "development or production.") var environment: Environment = .development
    @Option(help: "The account's e-mail address; a new one each time unless given.") var email: String?
    @Option(
        name: .customLong("profile"),
        help: ArgumentHelp("A device to sign in; repeat it for more.", valueName: "profile"))
    var profiles: [String] = ["first", "second"]
    @OptionGroup var roundsOption: RoundsOption
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        guard let first = profiles.first, profiles.allSatisfy(DeviceProfile.isValidName) else {
            throw ValidationError("--profile needs names of letters, digits, dots, hyphens and underscores.")
        }
        let made = try await DataFolder.with(folder.data) { try await make(in: $0) }
        var recoveryWords: [String]?
        for profile in profiles {
            let device = DeviceConfiguration(
                endpoint: try DeviceConfiguration.validateEndpoint(endpoint), container: container,
                environment: environment.rawValue, apiToken: made.apiToken, profile: profile,
                profilesFolder: DeviceConfiguration.profilesFolder(variables: EnvironmentVariables.all))
            let outcome = try await SignIn(configuration: device, rounds: roundsOption.rounds, send: WebSend.send)
                .signIn(email: made.email, password: made.password, deviceName: profile, container: container)
            if case .made(let words) = outcome.keys { recoveryWords = words }
        }
        if json { return try Output.json(made.with(recoveryWords)) }
        Output.result(
            """
            export CLOUDKIT_ENDPOINT=\(made.endpoint)
            export CLOUDKIT_CONTAINER=\(made.container)
            export CLOUDKIT_ENVIRONMENT=\(made.environment)
            export CLOUDKIT_API_TOKEN=\(made.apiToken)
            export CLOUDKIT_PROFILE=\(first)
            """)
        Output.remark(
            "Account \(made.email), password \(made.password), signed in as: \(profiles.joined(separator: ", ")).")
        if let recoveryWords { Output.remark("Recovery words: " + recoveryWords.joined(separator: " ")) }
    }

    private func make(in folder: DataFolder) async throws -> Made {
        let email = email ?? "try-\(folder.serverEnvironment.random(4).hex)@example.com"
        let password = folder.serverEnvironment.random(12).hex
        let account = try await folder.accountStore.accounts.add(
            email: email, name: "", password: password, rounds: roundsOption.rounds)
        let token = try await folder.accountStore.apiTokens.create(
            container: ContainerID(container), environment: environment, name: "quickstart")
        return Made(
            endpoint: endpoint, container: container, environment: environment.rawValue, apiToken: token.token,
            email: account.email, password: password, profiles: profiles)
    }

    private struct Made: Encodable {
        var endpoint: String
        var container: String
        var environment: String
        var apiToken: String
        var email: String
        var password: String
        var profiles: [String]
        var recoveryWords: [String]?

        func with(_ words: [String]?) -> Made {
            var made = self
            made.recoveryWords = words
            return made
        }
    }
}
