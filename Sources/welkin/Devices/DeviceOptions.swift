import ArgumentParser
import CloudKitDevice
import Foundation

/// The options for the cloud of a device; missing ones come from the environment, from `cloudkit.json`, and last from the
/// signed-in profile.
struct DeviceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The cloud's address. [env: CLOUDKIT_ENDPOINT]", valueName: "url"))
    var endpoint: String?
    @Option(help: "The app's container. [env: CLOUDKIT_CONTAINER]")
    var container: String?
    @Option(help: "development or production. [env: CLOUDKIT_ENVIRONMENT]")
    var environment: String?
    @Option(help: "The app's API token. [env: CLOUDKIT_API_TOKEN]")
    var apiToken: String?
    @Option(help: "The profile whose credentials to use. [env: CLOUDKIT_PROFILE]")
    var profile: String?

    /// The variables of this process, overridden by the options.
    var variables: [String: String] { variables(endpoint: nil) }

    /// Returns the variables with an address that counts where no option names one.
    private func variables(endpoint other: String?) -> [String: String] {
        var variables = EnvironmentVariables.all
        if let other { variables["CLOUDKIT_ENDPOINT"] = other }
        if let endpoint { variables["CLOUDKIT_ENDPOINT"] = endpoint }
        if let container { variables["CLOUDKIT_CONTAINER"] = container }
        if let environment { variables["CLOUDKIT_ENVIRONMENT"] = environment }
        if let apiToken { variables["CLOUDKIT_API_TOKEN"] = apiToken }
        if let profile { variables["CLOUDKIT_PROFILE"] = profile }
        return variables
    }

    func configuration() throws -> DeviceConfiguration {
        try DeviceConfiguration.ofSignedInDevice(variables: variables)
    }

    /// Returns the settings and their container, which a sign-in needs.
    ///
    /// - Parameter endpoint: The address of the cloud where no option names one; nil: that of the settings.
    func signIn(endpoint: String? = nil) throws -> (configuration: DeviceConfiguration, container: String) {
        let configuration = try DeviceConfiguration.ofSignedInDevice(variables: variables(endpoint: endpoint))
        guard let container = configuration.container else {
            throw ValidationError("No container is configured. Give --container, or set CLOUDKIT_CONTAINER.")
        }
        return (configuration, container)
    }
}
