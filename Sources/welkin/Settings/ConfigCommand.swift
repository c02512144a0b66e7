import ArgumentParser
import CommandSettings
import Foundation

/// Shows the settings of `welkin serve`.
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Show the settings that a cloud is served with.",
        discussion: """
            A setting has one name in three places: --log-days on the command line of `serve`, WELKIN_LOG_DAYS in the environment, and \
            log-days in a file. The command line comes before the environment, the environment before the file. The file is that of --config or \
            WELKIN_CONFIG, or \(SettingsPath.defaultFile) if it exists.
            """, subcommands: [Check.self, Example.self])

    /// Prints the settings with the place that each comes from.
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check", abstract: "Check the settings and print them, without secrets.")

        @Option(help: ArgumentHelp("A file of settings.", valueName: "file"))
        var config: String?
        @Argument(
            parsing: .postTerminator,
            help: ArgumentHelp("Arguments of `serve`, after two hyphens.", valueName: "arguments"))
        var arguments: [String] = []

        func run() async throws {
            let commandLine = (config.map { ["--config", $0] } ?? []) + arguments
            let (settings, file) = try ServeSettings.effective(
                commandLine, environment: ProcessInfo.processInfo.environment)
            // Parses them as `serve` does, so that values out of range are reported here.
            do {
                _ = try ServeCommand.parse(settings.arguments(withoutOptions: ServeSettings.hiddenNames))
            } catch {
                throw CommandFailure(Self.explained(ServeCommand.message(for: error), settings, file))
            }
            try SettingsFiles(settings: settings).check()
            Output.result(file.map { "# \($0)" } ?? "# no file of settings")
            let rows = settings.settings.compactMap { setting -> [String]? in
                if setting.source == .defaultValue, setting.values.isEmpty { return nil }
                return [SettingText.line(of: setting), "# " + SettingText.place(of: setting)]
            }
            Output.table(rows)
        }

        /// Adds the places of the settings that a message names.
        private static func explained(_ message: String, _ settings: EffectiveSettings, _ file: String?) -> String {
            let words = message.split { !($0.isLetter || $0.isNumber || $0 == "-") }
            var lines = [message]
            for setting in settings.settings where words.contains(Substring("--" + setting.option.name)) {
                switch setting.source {
                case .file, .environment:
                    lines.append("`\(setting.option.name)` is set in \(SettingText.place(of: setting))")
                case .commandLine, .defaultValue: break
                }
            }
            if lines.count > 1, let file { lines.append("The file is \(file)") }
            return lines.joined(separator: "\n")
        }
    }

    /// Prints a file of settings with every option as a comment.
    struct Example: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "example", abstract: "Print a file of settings in which every option is explained.")

        @Option(
            name: .customLong("set"),
            help: ArgumentHelp(
                "A setting that the file contains, not as a comment; may be repeated.", valueName: "name=value"))
        var values: [String] = []

        func run() async throws {
            var given: [String: String] = [:]
            for value in values {
                guard let equals = value.firstIndex(of: "=") else {
                    throw ValidationError("--set is name=value.")
                }
                given[String(value[..<equals])] = String(value[value.index(after: equals)...])
            }
            let options = try ServeSettings.options()
            for name in given.keys where !options.contains(where: { $0.option.name == name }) {
                throw ValidationError("There is no setting \(name).")
            }
            Output.result("# The settings of `welkin serve`. Check a change with: welkin config check")
            var section: String?
            for described in options where described.isShown {
                if described.section != section, let title = described.section { Output.result("\n## \(title)") }
                section = described.section
                Output.result("\n" + SettingText.wrapped(described.summary, width: 100, prefix: "# "))
                let setting = SettingText.line(of: described.option, value: given[described.option.name])
                Output.result(given[described.option.name] == nil ? "#" + setting : setting)
            }
        }
    }
}

/// Settings in the notation of the file.
enum SettingText {
    /// Returns a line of the file; secrets are left out.
    static func line(of setting: EffectiveSettings.Setting) -> String {
        let name = setting.option.name
        let values = setting.values.map { quoted(withoutSecrets($0, of: name)) }
        return switch setting.option.kind {
        case .flag: "\(name) = \(!values.isEmpty)"
        case .value: "\(name) = \(values.last ?? "\"\"")"
        case .repeated: "\(name) = [\(values.joined(separator: ", "))]"
        }
    }

    /// Returns a line of an example.
    static func line(of option: CommandOption, value: String?) -> String {
        let text = value ?? option.defaultValue
        return switch option.kind {
        case .flag: "\(option.name) = \(text ?? "true")"
        case .value: "\(option.name) = \(quoted(text ?? ""))"
        case .repeated: "\(option.name) = [\(text.map(quoted) ?? "")]"
        }
    }

    /// Returns the place that a setting comes from, for people.
    static func place(of setting: EffectiveSettings.Setting) -> String {
        switch setting.source {
        case .commandLine: "command line"
        case .environment(let variable): variable
        case .file(let line): "line \(line) of the file"
        case .defaultValue: "default"
        }
    }

    /// Breaks a text into lines.
    static func wrapped(_ text: String, width: Int, prefix: String) -> String {
        var lines = [prefix]
        for word in text.split(separator: " ") {
            let last = lines[lines.count - 1]
            if last.count + word.count + 1 > width, last != prefix {
                lines.append(prefix + word)
            } else {
                lines[lines.count - 1] = last == prefix ? prefix + word : last + " " + word
            }
        }
        return lines.joined(separator: "\n")
    }

    private static func quoted(_ text: String) -> String {
        if !text.isEmpty, Double(text) != nil, text.allSatisfy({ "-.0123456789".contains($0) }) { return text }
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
        return "\"\(escaped)\""
    }

    /// Returns a value without the password in an address, and without any value of an option for a password.
    private static func withoutSecrets(_ value: String, of name: String) -> String {
        if name.hasSuffix("password") || name.hasSuffix("token") || name.hasSuffix("secret") { return "…" }
        guard var parts = URLComponents(string: value), parts.password != nil else { return value }
        parts.password = "…"
        return parts.string?.removingPercentEncoding ?? "…"
    }
}
