import Logging

/// The format of log lines.
enum LogFormat: String, CaseIterable {
    case text, json

    /// Appends a line with its line break.
    ///
    /// - Parameters:
    ///   - time: The time as `LogTime` has it.
    ///   - values: Named values in the order in which they appear.
    func append(
        _ message: String, time: String, level: Logger.Level, values: some Sequence<(name: String, text: String)>,
        to bytes: inout [UInt8]
    ) {
        switch self {
        case .text:
            bytes.append(contentsOf: time.utf8)
            bytes.append(UInt8(ascii: " "))
            bytes.append(contentsOf: level.rawValue.utf8)
            bytes.append(UInt8(ascii: " "))
            Self.append(message, quoted: false, to: &bytes)
            for (name, text) in values {
                bytes.append(UInt8(ascii: " "))
                bytes.append(contentsOf: name.utf8)
                bytes.append(UInt8(ascii: "="))
                if Self.isPlain(text) {
                    bytes.append(contentsOf: text.utf8)
                } else {
                    Self.appendQuoted(text, to: &bytes)
                }
            }
        case .json:
            bytes.append(contentsOf: #"{"time":""#.utf8)
            bytes.append(contentsOf: time.utf8)
            bytes.append(contentsOf: #"","level":""#.utf8)
            bytes.append(contentsOf: level.rawValue.utf8)
            bytes.append(contentsOf: #"","message":"#.utf8)
            Self.appendQuoted(message, to: &bytes)
            for (name, text) in values {
                bytes.append(UInt8(ascii: ","))
                Self.appendQuoted(name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                if Self.isNumber(text) {
                    bytes.append(contentsOf: text.utf8)
                } else {
                    Self.appendQuoted(text, to: &bytes)
                }
            }
            bytes.append(UInt8(ascii: "}"))
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Returns whether a value needs no quotes.
    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "=")
            }
    }

    /// Returns whether a value is a short decimal number; names such as `1e5` and long digits are text.
    private static func isNumber(_ text: String) -> Bool {
        guard text.utf8.count <= 15, let first = text.utf8.first, (0x30...0x39).contains(first) else { return false }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty }) else { return false }
        let isDigits = parts.allSatisfy { $0.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } }
        return isDigits && (parts[0] == "0" || parts[0].first != "0")
    }

    private static func appendQuoted(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        append(text, quoted: true, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends a text with its control characters escaped and, in quotes, quotation marks and backslashes, so that an event is one line.
    private static func append(_ text: String, quoted: Bool, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\"") where quoted: bytes.append(contentsOf: #"\""#.utf8)
            case UInt8(ascii: "\\") where quoted: bytes.append(contentsOf: #"\\"#.utf8)
            case UInt8(ascii: "\n"): bytes.append(contentsOf: #"\n"#.utf8)
            case 0..<0x20, 0x7F:
                let hex = String(byte, radix: 16)
                bytes.append(contentsOf: ("\\u" + String(repeating: "0", count: 4 - hex.count) + hex).utf8)
            default: bytes.append(byte)
            }
        }
    }
}
