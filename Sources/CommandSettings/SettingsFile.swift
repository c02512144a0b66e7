/// The settings of a file: one line each, `name = value`, in the notation of TOML.
///
/// A value is a text in double or single quotes, a number, `true` or `false`, or a list of texts and numbers in square brackets, which may
/// take several lines. `#` begins a comment. Tables, dates and multi-line texts of TOML are not used: a setting has the same name in the file as on
/// the command line.
package struct SettingsFile: Hashable, Sendable {
    /// One setting with its place in the file.
    package struct Entry: Hashable, Sendable {
        /// The name of the option without the two hyphens before it.
        package var name: String
        /// The value.
        package var value: SettingValue
        /// The line on which the setting begins, from 1.
        package var line: Int
    }

    /// The settings in the order of the file; no name appears twice.
    package let entries: [Entry]

    /// The most bytes that a file may have.
    package static let bytesMax = 1 << 20

    /// Reads the text of a file.
    ///
    /// - Throws: `SettingsFileError` with the line of the first mistake.
    package init(_ text: String) throws(SettingsFileError) {
        guard text.utf8.count <= Self.bytesMax else {
            throw SettingsFileError(line: 1, reason: "the file is larger than \(Self.bytesMax) bytes")
        }
        var reader = SettingsReader(text)
        var entries: [Entry] = []
        while let entry = try reader.nextEntry() {
            if let earlier = entries.first(where: { $0.name == entry.name }) {
                throw SettingsFileError(
                    line: entry.line, reason: "`\(entry.name)` is set on line \(earlier.line) already")
            }
            entries.append(entry)
        }
        self.entries = entries
    }
}

/// A mistake in a file of settings.
package struct SettingsFileError: Error, Hashable, Sendable {
    /// The line, from 1.
    package var line: Int
    /// What is wrong, as a sentence without its period.
    package var reason: String

    /// Creates a value with the given properties.
    package init(line: Int, reason: String) {
        self.line = line
        self.reason = reason
    }
}

extension SettingsFileError: CustomStringConvertible {
    /// A textual form of the value, for people.
    package var description: String { "line \(line): \(reason)" }
}
