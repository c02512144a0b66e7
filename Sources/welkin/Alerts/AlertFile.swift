import CloudKitDevice
import CloudKitLogs
import Foundation

/// The files of alerts in the data folder, readable by their owner alone: addresses of web hooks may be secrets.
struct AlertFile: AlertStore {
    /// The data folder.
    var folder: String

    private var rulesPath: String { folder + "/alerts.json" }
    private var episodesPath: String { folder + "/alerts-state.json" }

    /// Reads the rules; none if there is no file.
    ///
    /// - Throws: `AlertRuleList.Problem`, `FileFailure`.
    func rules() throws -> AlertRuleList {
        guard let bytes = try PrivateFile.read(rulesPath) else { return AlertRuleList() }
        return try AlertRuleList(json: bytes)
    }

    /// Replaces the rules.
    ///
    /// - Throws: `AlertRuleList.Problem`, `FileFailure`.
    func write(_ list: AlertRuleList) throws {
        try list.check()
        try PrivateFile.replace(rulesPath, with: list.json)
    }

    /// Reads which alerts were under way when the cloud stopped; a file that cannot be read counts as none.
    func episodes() -> AlertEpisodes {
        guard let bytes = try? PrivateFile.read(episodesPath) else { return AlertEpisodes() }
        return (try? JSONDecoder().decode(AlertEpisodes.self, from: Data(bytes))) ?? AlertEpisodes()
    }

    /// Replaces what is known of alerts under way.
    func write(_ episodes: AlertEpisodes) throws {
        try PrivateFile.replace(episodesPath, with: Array(try JSONEncoder().encode(episodes)))
    }
}
