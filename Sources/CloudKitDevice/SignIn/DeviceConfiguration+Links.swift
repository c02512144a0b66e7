import Foundation

extension DeviceConfiguration {
    /// The settings for opening a link: its cloud is the link's; the profile is the configured one if that is signed in there,
    /// else the only one of this machine that is.
    ///
    /// Nothing that is configured for another cloud goes to the link's: API tokens are those with which the profile opened
    /// its containers there.
    ///
    /// - Parameters:
    ///   - endpoint: Where the person says that the link leads; nil: they say nothing.
    ///   - variables: A profile named there is used whether it is signed in or not.
    /// - Throws: `LinkError`, `DeviceConfigurationError`.
    package static func opening(
        _ address: ShareAddress, endpoint: String? = nil,
        variables: [String: String] = ProcessInfo.processInfo.environment,
        workingFolder: String = FileManager.default.currentDirectoryPath
    ) throws -> DeviceConfiguration {
        if let endpoint, try validateEndpoint(endpoint) != address.endpoint {
            throw LinkError.otherCloud(address.endpoint)
        }
        let cloud = try validateEndpoint(address.endpoint)
        var variables = variables
        let configured = try? resolve(variables: variables, workingFolder: workingFolder)
        variables["CLOUDKIT_ENDPOINT"] = cloud
        var configuration = try resolve(variables: variables, workingFolder: workingFolder)
        let isConfiguredHere = configured?.endpoint == cloud
        if variables.setting("CLOUDKIT_PROFILE") == nil, !configuration.isSignedIn {
            let others = signedIn(at: cloud, in: configuration.profilesFolder)
            if others.count > 1 { throw LinkError.severalProfiles(others) }
            if let only = others.first { configuration.profile = only }
        }
        if !isConfiguredHere {
            configuration.container = nil
            configuration.apiToken = nil
            configuration.apiTokens = [:]
        }
        let entries = (try? configuration.deviceProfile.credentials())?.containers ?? []
        for entry in entries where entry.environment == configuration.environment || !isConfiguredHere {
            if configuration.apiToken(for: entry.container) == nil {
                configuration.apiTokens[entry.container] = entry.apiToken
            }
        }
        return configuration
    }

    /// A Boolean value that indicates whether the profile is signed in at the endpoint.
    private var isSignedIn: Bool { (try? deviceProfile.credentials())?.endpoint == endpoint }

    /// The names of the profiles that are signed in at a cloud.
    private static func signedIn(at endpoint: String, in folder: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { name in
            DeviceProfile.isValidName(name)
                && (try? DeviceProfile(name: name, in: folder).credentials())?.endpoint == endpoint
        }.sorted()
    }
}
