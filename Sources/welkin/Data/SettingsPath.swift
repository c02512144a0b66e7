import CommandSettings
import Foundation

/// The place of the file of settings.
enum SettingsPath {
    /// The file that is read when neither `--config` nor `WELKIN_CONFIG` names one, if it exists.
    static let defaultFile = "/etc/welkin/welkin.toml"

    /// Returns the path of the file to read; nil: none.
    static func path(_ commandLine: [String], environment: [String: String]) throws -> String? {
        if let position = commandLine.lastIndex(of: "--config") {
            guard position + 1 < commandLine.count else { throw CommandFailure("--config needs the path of a file") }
            return commandLine[position + 1]
        }
        if let joined = commandLine.last(where: { $0.hasPrefix("--config=") }) { return String(joined.dropFirst(9)) }
        // An empty variable turns the default file off.
        if let path = environment["WELKIN_CONFIG"] { return path.isEmpty ? nil : path }
        return FileManager.default.fileExists(atPath: defaultFile) ? defaultFile : nil
    }

    /// Returns a text of the file of settings, for commands beside the cloud; nil: it has none of this name. A file with mistakes is left to
    /// `serve` and `config check` to report.
    static func setting(_ name: String, environment: [String: String]) -> String? {
        // `serve` is the only command with an option for the file.
        guard let path = try? path(CommandLine.arguments, environment: environment),
            let data = FileManager.default.contents(atPath: path), let text = String(bytes: data, encoding: .utf8),
            let file = try? SettingsFile(text)
        else { return nil }
        for entry in file.entries where entry.name == name {
            if case .text(let text) = entry.value { return text }
        }
        return nil
    }
}
