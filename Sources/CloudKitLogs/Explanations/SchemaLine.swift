/// A line of a container's schema as text.
package struct SchemaLine: Hashable, Sendable {
    /// The number, from 1.
    package var number: Int
    /// The text without the space around it.
    package var text: String

    /// Finds the line that a failure is about: that of the field which its reason names, or else that of the record type.
    init?(of failure: LogFailure, in schema: String) {
        guard let type = failure.recordType ?? Self.names(in: failure.reason).first else { return nil }
        let names = Self.names(in: failure.reason)
        var found: SchemaLine?
        for (index, line) in schema.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            var words = line.split(separator: " ", omittingEmptySubsequences: true)[...]
            if words.first == "RECORD", words.dropFirst().first == "TYPE" {
                if found != nil { break }
                words = words.dropFirst(2)
                guard let name = words.first.map(Self.plain), name == type else { continue }
                found = SchemaLine(number: index + 1, text: Self.trimmed(line))
            } else if found != nil, let name = words.first.map(Self.plain), names.contains(name), words.count > 1 {
                self.init(number: index + 1, text: Self.trimmed(line))
                return
            }
        }
        guard let found else { return nil }
        self = found
    }

    private init(number: Int, text: String) {
        self.number = number
        self.text = text
    }

    /// Returns the names in single or double quotes.
    private static func names(in reason: String) -> [String] {
        var names: [String] = []
        for quote in ["'", "\""] {
            let parts = reason.split(separator: Character(quote), omittingEmptySubsequences: false)
            for index in stride(from: 1, to: max(parts.count - 1, 1), by: 2) { names.append(String(parts[index])) }
        }
        return names
    }

    private static func plain(_ word: Substring) -> String {
        word.hasPrefix("\"") && word.hasSuffix("\"") && word.count > 1
            ? String(word.dropFirst().dropLast()) : String(word)
    }

    private static func trimmed(_ line: Substring) -> String {
        String(line.drop { $0 == " " })
    }
}
