import Foundation

/// The settings by which a device finds its cloud: the endpoint, the app's container, and the profile.
///
/// Values come, first wins, from the process environment (`CLOUDKIT_ENDPOINT`, `CLOUDKIT_CONTAINER`,
/// `CLOUDKIT_ENVIRONMENT`, `CLOUDKIT_API_TOKEN`, `CLOUDKIT_PROFILE`, `CLOUDKIT_CONTACTS`), then from a JSON file with the keys
/// `endpoint`, `container`, `environment`, `apiToken`, `apiTokens` (container → token), `profile` and `contacts`. The file is the one named by
/// `CLOUDKIT_CONFIGURATION`, else `cloudkit.json` in the working folder, else `welkin/cloudkit.json` in the user's
/// configuration folder (`$XDG_CONFIG_HOME`, or `~/.config`).
package struct DeviceConfiguration: Hashable, Sendable {
    /// Scheme, host and port, without a slash at the end: `https://cloud.example.com`.
    package var endpoint: String
    /// The default container, `iCloud.com.example.app`.
    package var container: String?
    /// `development` or `production`.
    package var environment: String
    /// The default container's API token.
    package var apiToken: String?
    /// API tokens of further containers, by container name.
    package var apiTokens: [String: String]
    /// Several devices and users can exist on one machine, each a profile.
    package var profile: String
    /// The folder that holds a folder for each profile.
    package var profilesFolder: String
    /// The place of fetched files; nil for a folder that is removed when the process does not need it any more.
    package var assetCache: AssetCacheSettings?
    /// The path of the user's address book, for discovery; nil: there is none.
    package var contactsFile: String?

    /// The environment unless another is set.
    package static let environmentDefault = "development"
    /// The profile unless another is set.
    package static let profileDefault = "default"

    /// Creates a value with the given properties.
    package init(
        endpoint: String, container: String? = nil, environment: String = environmentDefault, apiToken: String? = nil,
        apiTokens: [String: String] = [:], profile: String = profileDefault, profilesFolder: String,
        assetCache: AssetCacheSettings? = nil
    ) {
        self.endpoint = endpoint
        self.container = container
        self.environment = environment
        self.apiToken = apiToken
        self.apiTokens = apiTokens
        self.profile = profile
        self.profilesFolder = profilesFolder
        self.assetCache = assetCache
    }

    /// The API token for a container; nil where none is configured.
    ///
    /// A single `apiToken` without a `container` serves any container.
    package func apiToken(for container: String) -> String? {
        if let token = apiTokens[container] { return token }
        return self.container == nil || self.container == container ? apiToken : nil
    }

    /// The profile these settings name.
    package var deviceProfile: DeviceProfile { DeviceProfile(name: profile, in: profilesFolder) }
}

extension DeviceConfiguration {
    /// Reads the settings of this process.
    ///
    /// - Throws: `DeviceConfigurationError` that says which setting is missing or malformed and how to give it.
    package static func resolve(
        variables: [String: String] = ProcessInfo.processInfo.environment,
        workingFolder: String = FileManager.default.currentDirectoryPath
    ) throws(DeviceConfigurationError) -> DeviceConfiguration {
        let file = try ConfigurationFile.find(variables: variables, workingFolder: workingFolder)
        guard let endpoint = variables.setting("CLOUDKIT_ENDPOINT") ?? file.endpoint else { throw .endpointMissing }
        let environment = variables.setting("CLOUDKIT_ENVIRONMENT") ?? file.environment ?? environmentDefault
        guard environment == "development" || environment == "production" else {
            throw .environmentUnknown(environment)
        }
        let profile = variables.setting("CLOUDKIT_PROFILE") ?? file.profile ?? profileDefault
        guard DeviceProfile.isValidName(profile) else { throw .profileNameInvalid(profile) }
        var configuration = DeviceConfiguration(
            endpoint: try validateEndpoint(endpoint),
            container: variables.setting("CLOUDKIT_CONTAINER") ?? file.container,
            environment: environment,
            apiToken: variables.setting("CLOUDKIT_API_TOKEN") ?? file.apiToken,
            apiTokens: file.apiTokens ?? [:],
            profile: profile,
            profilesFolder: profilesFolder(variables: variables),
            assetCache: try AssetCacheSettings(variables: variables))
        configuration.contactsFile = variables.setting("CLOUDKIT_CONTACTS") ?? file.contacts
        return configuration
    }

    /// The folder of all profiles: `$XDG_DATA_HOME/welkin/profiles`, or `~/.local/share/welkin/profiles`.
    package static func profilesFolder(variables: [String: String]) -> String {
        let data = variables.setting("XDG_DATA_HOME") ?? homeFolder(variables) + "/.local/share"
        return data + "/welkin/profiles"
    }

    static func homeFolder(_ variables: [String: String]) -> String {
        variables.setting("HOME") ?? NSHomeDirectory()
    }

    /// Checks an endpoint and returns it without a slash at the end.
    ///
    /// Credentials travel with every request, so plain HTTP goes to this very machine only.
    package static func validateEndpoint(_ text: String) throws(DeviceConfigurationError) -> String {
        guard let parts = URLComponents(string: text), let host = parts.host, !host.isEmpty,
            parts.query == nil, parts.fragment == nil, parts.user == nil, parts.password == nil
        else { throw .endpointMalformed(text) }
        switch parts.scheme?.lowercased() {
        case "https": break
        case "http": guard isLoopback(host) else { throw .endpointNotEncrypted(text) }
        default: throw .endpointMalformed(text)
        }
        var endpoint = text[...]
        while endpoint.last == "/" { endpoint.removeLast() }
        return String(endpoint)
    }

    /// Returns whether bytes sent to an address can only be read there.
    package static func isEncryptedOrLocal(_ url: URL) -> Bool {
        switch url.scheme?.lowercased() {
        case "https": url.host?.isEmpty == false
        case "http": url.host.map(isLoopback) ?? false
        default: false
        }
    }

    /// Returns a Boolean value that indicates whether a host name or address can only mean this machine.
    package static func isLoopback(_ host: String) -> Bool {
        let host = host.lowercased()
        if ["localhost", "::1", "[::1]"].contains(host) { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

extension [String: String] {
    /// A variable's value; nil also when it is empty.
    func setting(_ name: String) -> String? {
        guard let value = self[name], !value.isEmpty else { return nil }
        return value
    }
}
