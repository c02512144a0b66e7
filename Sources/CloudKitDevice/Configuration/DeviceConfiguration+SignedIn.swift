import Foundation

extension DeviceConfiguration {
    /// The settings of this process; where they name no cloud, or no container, those of the profile that is signed in.
    ///
    /// For commands about a device: apps name their own.
    ///
    /// - Throws: As `resolve`.
    package static func ofSignedInDevice(
        variables: [String: String] = ProcessInfo.processInfo.environment,
        workingFolder: String = FileManager.default.currentDirectoryPath
    ) throws(DeviceConfigurationError) -> DeviceConfiguration {
        var configuration: DeviceConfiguration
        do {
            configuration = try resolve(variables: variables, workingFolder: workingFolder)
        } catch .endpointMissing {
            let profile = variables.setting("CLOUDKIT_PROFILE") ?? profileDefault
            guard DeviceProfile.isValidName(profile) else { throw .profileNameInvalid(profile) }
            let folder = profilesFolder(variables: variables)
            guard let held = try? DeviceProfile(name: profile, in: folder).credentials() else { throw .endpointMissing }
            var variables = variables
            variables["CLOUDKIT_ENDPOINT"] = held.endpoint
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
