import Foundation
import Logging

/// How log lines look.
enum LogFormat: String, CaseIterable {
    case text, json
}

/// Writes one line an event to standard error, for people or for machines.
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
        case .text: Output.write(Self.text(time, event, pairs), to: 2)
        case .json: Output.write(json(time, event, pairs), to: 2)
        }
    }

    private static func text(_ time: String, _ event: LogEvent, _ pairs: [(String, String)]) -> String {
        var line = "\(time) \(event.level.rawValue) \(escape(event.message.description, quoted: false))"
        for (key, value) in pairs {
            line += isPlain(value) ? " \(key)=\(value)" : " \(key)=\"\(escape(value, quoted: true))\""
        }
        return line + "\n"
    }

    /// Whether a value can stand without quotes.
    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "=")
            }
    }

    private func json(_ time: String, _ event: LogEvent, _ pairs: [(String, String)]) -> String {
        var line =
            #"{"time":"\#(time)","level":"\#(event.level.rawValue)","message":"\#(Self.escape(event.message.description, quoted: true))""#
        for (key, value) in pairs {
            line += ",\"\(Self.escape(key, quoted: true))\":"
            line += Self.isNumber(value) ? value : "\"\(Self.escape(value, quoted: true))\""
        }
        return line + "}\n"
    }

    /// Short decimal numbers only: names such as `1e5` or long digits stay text.
    private static func isNumber(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, text.utf8.count <= 15, parts.allSatisfy({ !$0.isEmpty }) else { return false }
        let isDigits = parts.allSatisfy { $0.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } }
        return isDigits && (parts[0] == "0" || parts[0].first != "0")
    }

    /// One event stays one line, whatever it holds.
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
