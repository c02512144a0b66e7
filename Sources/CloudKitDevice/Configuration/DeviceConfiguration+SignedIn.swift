import Foundation

extension DeviceConfiguration {
    /// The settings of this process; where they name no cloud, environment or container, those of the profile that is signed in.
    ///
    /// The environment is the profile's where the container was opened in only one. The container is the profile's where it
    /// has opened only one.
    ///
    /// - Parameter container: The container that an app uses; nil: the configured one.
    /// - Throws: As `resolve`.
    package static func ofSignedInDevice(
        container: String? = nil, variables: [String: String] = ProcessInfo.processInfo.environment,
        workingFolder: String = FileManager.default.currentDirectoryPath
    ) throws(DeviceConfigurationError) -> DeviceConfiguration {
        var configuration: DeviceConfiguration
        do {
            configuration = try resolve(variables: variables, workingFolder: workingFolder)
        } catch .endpointMissing {
            let file = try ConfigurationFile.find(variables: variables, workingFolder: workingFolder)
            let profile = variables.setting("CLOUDKIT_PROFILE") ?? file.profile ?? profileDefault
            guard DeviceProfile.isValidName(profile) else { throw .profileNameInvalid(profile) }
            let folder = profilesFolder(variables: variables)
            guard let held = try? DeviceProfile(name: profile, in: folder).credentials() else { throw .endpointMissing }
            var variables = variables
            variables["CLOUDKIT_ENDPOINT"] = held.endpoint
            let name = container ?? variables.setting("CLOUDKIT_CONTAINER") ?? file.container
            let environments = Set(
                held.containers.filter { $0.container == name ?? $0.container }.map(\.environment))
            if variables.setting("CLOUDKIT_ENVIRONMENT") == nil, file.environment == nil, environments.count == 1 {
                variables["CLOUDKIT_ENVIRONMENT"] = environments.first
            }
            configuration = try resolve(variables: variables, workingFolder: workingFolder)
        }
        guard configuration.container == nil, let held = try? configuration.deviceProfile.credentials(),
            held.endpoint == configuration.endpoint
        else { return configuration }
        // With several apps the container has to be given.
        let containers = held.containers.filter { $0.environment == configuration.environment }.map(\.container)
        if containers.count == 1 { configuration.container = containers.first }
        return configuration
    }
}
