import Foundation

/// The place of fetched files on this machine, and their lifetime.
///
/// From the process environment: `CLOUDKIT_ASSET_CACHE` (the folder; else `$XDG_CACHE_HOME/welkin/assets`, else
/// `~/.cache/welkin/assets`), `CLOUDKIT_ASSET_CACHE_MEGABYTES` and `CLOUDKIT_ASSET_CACHE_DAYS`. Below the folder each profile
/// has its own.
package struct AssetCacheSettings: Hashable, Sendable {
    /// The folder of the files.
    package var folder: String
    /// The limit on all files together, in bytes; the files that were used longest ago are removed first.
    package var bytesMax: Int64
    /// Seconds after its last use for which a file stays.
    package var ageMax: Int64

    /// The limit on all files together, in bytes, unless another is set: 1 GB.
    package static let bytesMaxDefault: Int64 = 1 << 30
    /// The time for which a file stays after its last use, in seconds, unless another is set: 30 days.
    package static let ageMaxDefault: Int64 = 30 * 86_400

    /// Creates a value with the given properties.
    package init(folder: String, bytesMax: Int64 = bytesMaxDefault, ageMax: Int64 = ageMaxDefault) {
        self.folder = folder
        self.bytesMax = bytesMax
        self.ageMax = ageMax
    }

    /// The part of one profile.
    package func folder(of profile: String) -> AssetCacheSettings {
        var settings = self
        settings.folder += "/" + profile
        return settings
    }

    /// - Throws: `DeviceConfigurationError.cacheLimitMalformed`.
    init(variables: [String: String]) throws(DeviceConfigurationError) {
        let caches = variables.setting("XDG_CACHE_HOME") ?? DeviceConfiguration.homeFolder(variables) + "/.cache"
        folder = variables.setting("CLOUDKIT_ASSET_CACHE") ?? caches + "/welkin/assets"
        bytesMax =
            try Self.limit("CLOUDKIT_ASSET_CACHE_MEGABYTES", unit: 1 << 20, in: variables) ?? Self.bytesMaxDefault
        ageMax = try Self.limit("CLOUDKIT_ASSET_CACHE_DAYS", unit: 86_400, in: variables) ?? Self.ageMaxDefault
    }

    private static func limit(
        _ name: String, unit: Int64, in variables: [String: String]
    ) throws(DeviceConfigurationError) -> Int64? {
        guard let text = variables.setting(name) else { return nil }
        guard let count = Int64(text), (0...1_000_000_000).contains(count) else {
            throw .cacheLimitMalformed(variable: name, text)
        }
        return count * unit
    }
}
