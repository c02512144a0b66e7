import CloudKitAccounts
import CloudKitDevice
import CloudKitModel
import Foundation

/// An account and an API token for development, created once and stored next to the data.
struct DevelopmentDefaults {
    var folder: DataFolder
    var endpoint: String

    private static let container = "iCloud.com.example.app"
    private static let email = "developer@example.com"

    /// The settings in the form of a `cloudkit.json`, together with the account.
    private struct Settings: Codable {
        var endpoint: String
        var container: String
        var environment: String
        var apiToken: String
        var email: String
        var password: String
    }

    /// Creates the file, or updates its endpoint.
    ///
    /// - Returns: The path of the settings.
    func file() async throws -> String {
        let path = folder.path + "/development.json"
        var settings: Settings
        if let held = try PrivateFile.read(path) {
            settings = try JSONDecoder().decode(Settings.self, from: Data(held))
            guard settings.endpoint != endpoint else { return path }
            settings.endpoint = endpoint
        } else {
            settings = try await create()
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try PrivateFile.replace(path, with: Array(encoder.encode(settings)))
        return path
    }

    private func create() async throws -> Settings {
        let password = folder.serverEnvironment.random(12).hex
        _ = try await folder.accountStore.accounts.add(
            email: Self.email, name: "Developer", password: password, rounds: PasswordProof.roundsDefault)
        let token = try await folder.accountStore.apiTokens.create(
            container: ContainerID(Self.container), environment: .development, name: "development defaults")
        return Settings(
            endpoint: endpoint, container: Self.container, environment: Environment.development.rawValue,
            apiToken: token.token, email: Self.email, password: password)
    }
}
