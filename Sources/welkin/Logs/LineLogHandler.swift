import Foundation
import Logging

/// The format of log lines.
enum LogFormat: String, CaseIterable {
    case text, json
}

/// A log handler that writes one line per event to standard error, as text or JSON.
struct LineLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    private let label: String
    private let format: LogFormat

    init(label: String, level: Logger.Level, format: LogFormat) {
        self.label = label
        self.logLevel = level
        self.format = format
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var values = metadata
        if let extra = event.metadata { values.merge(extra) { $1 } }
        if let error = event.error { values["error"] = .string(String(describing: error)) }
        let time = LogTime.now
        let pairs = values.map { ($0.key, "\($0.value)") }.sorted { $0.0 < $1.0 }
        switch format {
        case .text: Output.write(Self.text(event, at: time, pairs: pairs), to: 2)
        case .json: Output.write(json(event, at: time, pairs: pairs), to: 2)
        }
    }

    private static func text(_ event: LogEvent, at time: String, pairs: [(String, String)]) -> String {
        var line = "\(time) \(event.level.rawValue) \(escape(event.message.description, quoted: false))"
        for (key, value) in pairs {
            line += isPlain(value) ? " \(key)=\(value)" : " \(key)=\"\(escape(value, quoted: true))\""
        }
        return line + "\n"
    }

    /// Returns whether a value needs no quotes.
    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "=")
            }
    }

    private func json(_ event: LogEvent, at time: String, pairs: [(String, String)]) -> String {
        var line =
            #"{"time":"\#(time)","level":"\#(event.level.rawValue)","message":"\#(Self.escape(event.message.description, quoted: true))""#
        for (key, value) in pairs {
            line += ",\"\(Self.escape(key, quoted: true))\":"
            line += Self.isNumber(value) ? value : "\"\(Self.escape(value, quoted: true))\""
        }
        return line + "}\n"
    }

    /// Returns whether a value is a short decimal number; names such as `1e5` and long digits are text.
    private static func isNumber(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, text.utf8.count <= 15, parts.allSatisfy({ !$0.isEmpty }) else { return false }
        let isDigits = parts.allSatisfy { $0.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } }
        return isDigits && (parts[0] == "0" || parts[0].first != "0")
    }

    /// Escapes control characters and, in quotes, quotation marks and backslashes, so that an event is one line.
    private static func escape(_ text: String, quoted: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"" where quoted: result += "\\\""
            case "\\" where quoted: result += "\\\\"
            case "\n": result += "\\n"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                let hex = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
