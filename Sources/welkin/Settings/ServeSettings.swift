import CommandSettings
import Foundation

/// The settings of `welkin serve` from the command line, the environment and a file.
enum ServeSettings {
    /// Options that say where settings come from, or print something.
    private static let ownNames: Set = ["config", "help", "version"]

    /// Options that `DataOptions` reads from the environment and the file by itself, since an address among the arguments may have no password.
    static let hiddenNames: Set = ["store", "store-file"]

    /// The options of `serve` that settings can name, in the order of its help.
    static func options() throws -> [DescribedOption] {
        let help = try JSONDecoder().decode(CommandHelp.self, from: Data(ServeCommand._dumpHelp().utf8))
        return (help.command.arguments ?? []).compactMap { argument in
            guard let name = argument.longName, argument.kind != "positional", !ownNames.contains(name) else {
                return nil
            }
            let kind: CommandOption.Kind =
                argument.kind == "flag" ? .flag : argument.isRepeating ? .repeated : .value
            return DescribedOption(
                option: CommandOption(name: name, kind: kind, defaultValue: argument.defaultValue),
                summary: argument.abstract ?? "", isShown: argument.shouldDisplay, section: argument.sectionTitle)
        }
    }

    /// Returns the arguments of the program with those of `serve` that the environment and a file give.
    ///
    /// - Parameter arguments: The program's arguments without its name; those of other commands are returned as they are.
    /// - Throws: `CommandFailure` for a file that cannot be read or is not valid.
    static func complete(_ arguments: [String], environment: [String: String]) throws -> [String] {
        guard arguments.first == "serve", !arguments.contains("--help"), !arguments.contains("-h") else {
            return arguments
        }
        let own = Array(arguments.dropFirst())
        return ["serve"]
            + (try effective(own, environment: environment).settings.arguments(withoutOptions: hiddenNames))
    }

    /// Returns the settings that `welkin serve` with these arguments would have, and the file that was read.
    static func effective(
        _ commandLine: [String], environment: [String: String]
    ) throws -> (settings: EffectiveSettings, file: String?) {
        let path = try SettingsPath.path(commandLine, environment: environment)
        let options = try options().map(\.option)
        guard let path else {
            return (
                try explaining("the environment") {
                    try EffectiveSettings(of: options, commandLine: commandLine, environment: environment, file: nil)
                }, nil
            )
        }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure("the file of settings \(path) cannot be read")
        }
        guard let text = String(bytes: data, encoding: .utf8) else {
            throw CommandFailure("the file of settings \(path) is not UTF-8")
        }
        let settings = try explaining(path) {
            try EffectiveSettings(
                of: options, commandLine: commandLine, environment: environment, file: SettingsFile(text))
        }
        return (settings, path)
    }

    private static func explaining<Value>(_ place: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as SettingsFileError {
            throw CommandFailure("\(place), \(error)")
        } catch let error as SettingsError {
            throw CommandFailure("\(place), \(error)")
        }
    }
}

/// An option with what its help says.
struct DescribedOption {
    var option: CommandOption
    var summary: String
    var isShown: Bool
    var section: String?
}

/// The part of a command's help, as JSON, that settings need.
private struct CommandHelp: Decodable {
    struct Command: Decodable {
        var arguments: [Argument]?
    }

    struct Argument: Decodable {
        struct Name: Decodable {
            var kind: String
            var name: String
        }

        var kind: String
        var names: [Name]?
        var isRepeating: Bool
        var shouldDisplay: Bool
        var defaultValue: String?
        var abstract: String?
        var sectionTitle: String?

        var longName: String? { names?.first { $0.kind == "long" }?.name }
    }

    var command: Command
}
