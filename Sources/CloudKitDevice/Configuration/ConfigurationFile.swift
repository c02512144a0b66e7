import Foundation

/// The settings of a `cloudkit.json`; every key may be left out.
struct ConfigurationFile: Codable, Hashable {
    var endpoint: String?
    var container: String?
    var environment: String?
    var apiToken: String?
    var apiTokens: [String: String]?
    var profile: String?
    var contacts: String?

    /// The first file that exists, or none of the settings.
    static func find(
        variables: [String: String], workingFolder: String
    ) throws(DeviceConfigurationError) -> ConfigurationFile {
        if let path = variables.setting("CLOUDKIT_CONFIGURATION") {
            guard let file = try read(path) else { throw .fileUnreadable(path) }
            return file
        }
        let configuration =
            variables.setting("XDG_CONFIG_HOME") ?? DeviceConfiguration.homeFolder(variables) + "/.config"
        for path in [workingFolder + "/cloudkit.json", configuration + "/welkin/cloudkit.json"] {
            if let file = try read(path) { return file }
        }
        return ConfigurationFile()
    }

    /// The settings in a file; nil when there is no such file.
    private static func read(_ path: String) throws(DeviceConfigurationError) -> ConfigurationFile? {
        guard let data = FileManager.default.contents(atPath: path) else { return nil }
        do {
            return try JSONDecoder().decode(ConfigurationFile.self, from: data)
        } catch {
            throw .fileMalformed(path)
        }
    }
}
