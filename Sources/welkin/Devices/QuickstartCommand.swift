import ArgumentParser
import CloudKitAccounts
import CloudKitDevice
import CloudKitModel
import CloudKitServer

/// Creates an account and an API token and signs in two devices, in one step.
struct QuickstartCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quickstart",
        abstract: "Create an account and an API token and sign in two devices, to try an app.",
        discussion: """
            Works on the data folder of a cloud that runs on this machine. Prints lines for the shell: after \
            `eval "$(welkin quickstart)"` the apps of this shell use the cloud as the first device; for the second device \
            set CLOUDKIT_PROFILE.
            """)

    @OptionGroup var folder: DataOptions
    @Option(help: ArgumentHelp("The address on which the cloud listens.", valueName: "url"))
    var endpoint: String = "http://127.0.0.1:8080"
    @Option(help: "The app's container.") var container: String = "iCloud.com.example.app"
    @Option(help: "development or production.") var environment: Environment = .development
    @Option(help: "The account's e-mail address; a new one each time if omitted.") var email: String?
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
        let created = try await DataFolder.with(folder) { try await create(in: $0) }
        var recoveryWords: [String]?
        for profile in profiles {
            let device = DeviceConfiguration(
                endpoint: try DeviceConfiguration.validateEndpoint(endpoint), container: container,
                environment: environment.rawValue, apiToken: created.apiToken, profile: profile,
                profilesFolder: DeviceConfiguration.profilesFolder(variables: EnvironmentVariables.all))
            let outcome = try await SignIn(configuration: device, rounds: roundsOption.rounds, send: WebSend.send)
                .signIn(email: created.email, password: created.password, deviceName: profile, container: container)
            if case .made(let words) = outcome.keys { recoveryWords = words }
        }
        if json { return try Output.json(created.with(recoveryWords)) }
        Output.result(
            """
            export CLOUDKIT_ENDPOINT=\(created.endpoint)
            export CLOUDKIT_CONTAINER=\(created.container)
            export CLOUDKIT_ENVIRONMENT=\(created.environment)
            export CLOUDKIT_API_TOKEN=\(created.apiToken)
            export CLOUDKIT_PROFILE=\(first)
            """)
        Output.remark(
            "Account \(created.email), password \(created.password), signed in as: \(profiles.joined(separator: ", "))."
        )
        if let recoveryWords { Output.remark("Recovery words: " + recoveryWords.joined(separator: " ")) }
    }

    private func create(in folder: DataFolder) async throws -> Setup {
        let email = email ?? "try-\(folder.serverEnvironment.random(4).hex)@example.com"
        let password = folder.serverEnvironment.random(12).hex
        let account = try await folder.order("accounts/create", of: email) {
            try await folder.accountStore.accounts.add(
                email: email, name: "", password: password, rounds: roundsOption.rounds)
        }
        let token = try await folder.order(
            "tokens/api/create", in: ContainerID(container), environment, noting: Self.identifiers
        ) {
            try await folder.accountStore.apiTokens.create(
                container: ContainerID(container), environment: environment, name: "quickstart")
        }
        return Setup(
            endpoint: endpoint, container: container, environment: environment.rawValue, apiToken: token.token,
            email: account.email, password: password, profiles: profiles)
    }

    private static func identifiers(of made: (token: String, row: APIToken)) -> [String: String] {
        ["token": made.row.id]
    }

    private struct Setup: Encodable {
        var endpoint: String
        var container: String
        var environment: String
        var apiToken: String
        var email: String
        var password: String
        var profiles: [String]
        var recoveryWords: [String]?

        func with(_ words: [String]?) -> Setup {
            var setup = self
            setup.recoveryWords = words
            return setup
        }
    }
}
