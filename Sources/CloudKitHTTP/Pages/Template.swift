/// A page with placeholders: `{{name}}` is a value, escaped; `{{#name}}…{{/name}}` is included only if there is one,
/// and `{{^name}}…{{/name}}` only if there is none.
struct Template: Sendable {
    private let parts: [Part]

    private indirect enum Part: Sendable {
        case text(String)
        case value(String)
        case section(String, isInverted: Bool, [Part])
    }

    /// Parses the text of a page.
    ///
    /// - Precondition: Every section ends. The pages are built into the program, and a test fills each of them.
    init(_ text: [UInt8]) {
        var rest = Substring(String(decoding: text, as: UTF8.self))
        parts = Self.parse(&rest, until: nil)
    }

    /// Returns the page with values in their places.
    ///
    /// - Precondition: Each name of the template is a key.
    func filled(with values: [String: String?] = [:]) -> [UInt8] {
        var text = ""
        Self.write(parts, values, to: &text)
        return Array(text.utf8)
    }

    private static func parse(_ rest: inout Substring, until section: String?) -> [Part] {
        var parts: [Part] = []
        while let start = rest.firstRange(of: "{{") {
            parts.append(.text(String(rest[..<start.lowerBound])))
            guard let end = rest[start.upperBound...].firstRange(of: "}}") else {
                preconditionFailure("a place in a template does not end")
            }
            let tag = rest[start.upperBound..<end.lowerBound]
            rest = rest[end.upperBound...]
            let name = String(tag.dropFirst())
            switch tag.first {
            case "#": parts.append(.section(name, isInverted: false, parse(&rest, until: name)))
            case "^": parts.append(.section(name, isInverted: true, parse(&rest, until: name)))
            case "/":
                precondition(name == section, "sections of a template overlap")
                return parts
            default: parts.append(.value(String(tag)))
            }
        }
        precondition(section == nil, "a section of a template does not end")
        parts.append(.text(String(rest)))
        return parts
    }

    private static func write(_ parts: [Part], _ values: [String: String?], to text: inout String) {
        for part in parts {
            switch part {
            case .text(let literal): text += literal
            case .value(let name): text += escaped(value(name, values) ?? "")
            case .section(let name, let isInverted, let inner):
                if (value(name, values) == nil) == isInverted { write(inner, values, to: &text) }
            }
        }
    }

    private static func value(_ name: String, _ values: [String: String?]) -> String? {
        guard let value = values[name] else {
            preconditionFailure("a template has a place for \(name), which is not given")
        }
        return value
    }

    /// Returns text for between tags and for values in double quotes.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
