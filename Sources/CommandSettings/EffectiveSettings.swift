/// The settings of a command from all places: the command line before the environment, the environment before the file, the
/// file before the defaults.
package struct EffectiveSettings: Hashable, Sendable {
    /// The place that a setting comes from.
    package enum Source: Hashable, Sendable {
        case commandLine
        /// The variable of the environment.
        case environment(String)
        /// The line of the file.
        case file(line: Int)
        case defaultValue
    }

    /// One setting.
    package struct Setting: Hashable, Sendable {
        /// The option.
        package var option: CommandOption
        /// The values: none for a flag that is off and an option that nothing sets.
        package var values: [String]
        /// The place that they come from.
        package var source: Source
    }

    /// One for each option, in the order of the command's help.
    package let settings: [Setting]
    private let commandLine: [String]

    /// Merges the settings.
    ///
    /// - Parameters:
    ///   - commandLine: The arguments after the command's name.
    ///   - environment: All variables; those of no option are left alone.
    /// - Throws: `SettingsError` for a name in the file that no option has, and for values of the wrong kind.
    package init(
        of options: [CommandOption], commandLine: [String], environment: [String: String], file: SettingsFile?
    ) throws(SettingsError) {
        for entry in file?.entries ?? [] where !options.contains(where: { $0.name == entry.name }) {
            throw .unknownName(entry.name, line: entry.line, nearest: Self.nearest(to: entry.name, in: options))
        }
        var settings: [Setting] = []
        for option in options {
            settings.append(
                try Self.setting(of: option, commandLine: commandLine, environment: environment, file: file))
        }
        self.settings = settings
        self.commandLine = commandLine
    }

    /// Returns the arguments that stand for all settings: those of the environment and of the file first, the command line last.
    ///
    /// - Parameter names: Options whose settings in the environment and the file are left out.
    package func arguments(withoutOptions names: Set<String> = []) -> [String] {
        var arguments: [String] = []
        for setting in settings where !names.contains(setting.option.name) {
            switch setting.source {
            case .commandLine, .defaultValue: continue
            case .environment, .file: break
            }
            switch setting.option.kind {
            case .flag: if !setting.values.isEmpty { arguments.append("--" + setting.option.name) }
            // One argument, so that a value that begins with a hyphen stays a value.
            case .value, .repeated: arguments += setting.values.map { "--\(setting.option.name)=\($0)" }
            }
        }
        return arguments + commandLine
    }

    private static func setting(
        of option: CommandOption, commandLine: [String], environment: [String: String], file: SettingsFile?
    ) throws(SettingsError) -> Setting {
        if let values = values(of: option, in: commandLine) {
            return Setting(option: option, values: values, source: .commandLine)
        }
        if let text = environment[option.variable], !text.isEmpty {
            return Setting(
                option: option, values: try values(of: option, in: text), source: .environment(option.variable))
        }
        if let entry = file?.entries.first(where: { $0.name == option.name }) {
            return Setting(option: option, values: try values(of: option, in: entry), source: .file(line: entry.line))
        }
        return Setting(option: option, values: option.defaultValue.map { [$0] } ?? [], source: .defaultValue)
    }

    /// Returns the values that the command line gives an option; nil: it does not name it.
    private static func values(of option: CommandOption, in commandLine: [String]) -> [String]? {
        let word = "--" + option.name
        var values: [String] = []
        var isNamed = false
        for (position, argument) in commandLine.enumerated() {
            if argument == "--" { break }
            if argument.hasPrefix(word + "="), option.kind != .flag {
                isNamed = true
                values.append(String(argument.dropFirst(word.count + 1)))
            } else if argument == word {
                isNamed = true
                if option.kind == .flag {
                    values.append("true")
                } else if position + 1 < commandLine.count {
                    values.append(commandLine[position + 1])
                }
            }
        }
        return isNamed ? values : nil
    }

    /// Returns the values of an environment variable; those of a repeated option are separated by commas.
    private static func values(of option: CommandOption, in text: String) throws(SettingsError) -> [String] {
        switch option.kind {
        case .value: return [text]
        case .repeated: return text.split(separator: ",").map { $0.filter { $0 != " " } }
        case .flag:
            switch text.lowercased() {
            case "true", "yes", "1": return ["true"]
            case "false", "no", "0": return []
            default: throw .notAFlag(place: option.variable)
            }
        }
    }

    private static func values(
        of option: CommandOption, in entry: SettingsFile.Entry
    ) throws(SettingsError) -> [String] {
        switch (option.kind, entry.value) {
        case (.flag, .flag(let isOn)): return isOn ? ["true"] : []
        case (.flag, _): throw .notAFlag(place: "`\(entry.name)` on line \(entry.line)")
        case (.value, .text(let text)), (.repeated, .text(let text)): return [text]
        case (.repeated, .list(let texts)): return texts
        case (.value, .list): throw .notOneValue(entry.name, line: entry.line)
        case (_, .flag): throw .notAText(entry.name, line: entry.line)
        }
    }

    /// Returns the option whose name is most like a mistyped one; nil: none is like it.
    private static func nearest(to name: String, in options: [CommandOption]) -> String? {
        options.map { (name: $0.name, distance: distance(Array($0.name), Array(name))) }
            .filter { $0.distance <= max(2, name.count / 3) }
            .min { $0.distance < $1.distance }?.name
    }

    /// The number of characters to insert, remove or replace.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var row = Array(0...right.count)
        for (position, character) in left.enumerated() {
            var diagonal = row[0]
            row[0] = position + 1
            for (column, other) in right.enumerated() {
                let replaced = diagonal + (character == other ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
