import Foundation

/// The output of a command: results on standard output, questions and remarks on standard error.
enum ToolOutput {
    /// Prints a line to standard output.
    static func result(_ text: String) { write(text + "\n", to: 1) }

    /// Prints a line to standard error.
    static func remark(_ text: String) { write(text + "\n", to: 2) }

    /// Prints a value as JSON.
    static func json(_ value: JSONTree) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        result(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// Writes text unbuffered: a reader may be waiting at the other end of a pipe.
    static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return
            }
        }
    }
}

extension String {
    /// The text without control characters, so that what a server sent cannot move the cursor or begin a line.
    var onOneLine: String {
        String(unicodeScalars.map { $0.properties.generalCategory == .control ? " " : Character($0) })
    }
}
