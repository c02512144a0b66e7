/// A part of a page. Every text that goes into one is escaped; tags and the names of attributes are literals of this module.
struct HTML: Sendable, Hashable {
    /// The markup.
    private(set) var markup: String

    /// Creates an empty part.
    init() { markup = "" }

    /// Creates a text.
    init(_ text: String) { markup = Self.escaped(text) }

    /// Creates an element.
    ///
    /// - Parameters:
    ///   - tag: A literal.
    ///   - content: nil for an element without content and end tag.
    init(tag: StaticString, _ attributes: [Attribute], _ content: HTML?) {
        markup = "<\(tag)"
        for attribute in attributes { markup += attribute.markup }
        markup += ">"
        guard let content else { return }
        markup += content.markup
        markup += "</\(tag)>"
    }

    /// Creates the parts one after the other.
    init(_ parts: some Sequence<HTML>) {
        markup = ""
        for part in parts { markup += part.markup }
    }

    /// Whether there is nothing in it.
    var isEmpty: Bool { markup.isEmpty }

    /// A whole document.
    var document: [UInt8] { Array("<!doctype html>\n".utf8) + Array(markup.utf8) }

    /// Returns text for between tags and for values in double quotes.
    ///
    /// Characters that no document may have become `U+FFFD`.
    static func escaped(_ text: String) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count)
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case "\t", "\n": result.unicodeScalars.append(character)
            case "\u{00}"..."\u{1F}", "\u{7F}"..."\u{9F}": result.unicodeScalars.append("\u{FFFD}")
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}

/// Builds parts of pages of elements, texts, conditions and loops.
@resultBuilder enum HTMLBuilder {
    static func buildExpression(_ part: HTML) -> HTML { part }
    static func buildExpression(_ part: HTML?) -> HTML { part ?? HTML() }
    static func buildExpression(_ parts: [HTML]) -> HTML { HTML(parts) }
    static func buildExpression(_ text: String) -> HTML { HTML(text) }
    static func buildBlock(_ parts: HTML...) -> HTML { HTML(parts) }
    static func buildOptional(_ part: HTML?) -> HTML { part ?? HTML() }
    static func buildEither(first part: HTML) -> HTML { part }
    static func buildEither(second part: HTML) -> HTML { part }
    static func buildArray(_ parts: [HTML]) -> HTML { HTML(parts) }
}
