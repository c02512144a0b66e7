/// A token of the schema language and its place.
struct SchemaToken: Hashable, Sendable {
    /// The kinds of tokens.
    enum Kind: Hashable, Sendable {
        /// A word without quotes: a keyword or a name.
        case word(String)
        /// A name in quotes, without them.
        case quoted(String)
        /// One of `( ) , ; < >`.
        case sign(Character)
        case end
    }

    var kind: Kind
    var line: Int
    var column: Int

    /// The token as errors show it.
    var shown: String {
        switch kind {
        case .word(let word): "'\(word.prefix(Self.shownMax))'"
        case .quoted(let name): "'\"\(name.prefix(Self.shownMax))\"'"
        case .sign(let sign): "'\(sign)'"
        case .end: "the end of the schema"
        }
    }

    /// Characters of a token that an error repeats.
    private static let shownMax = 60

    /// The word in capitals, as keywords are compared; nil for all but words.
    var keyword: String? {
        guard case .word(let word) = kind else { return nil }
        return word.uppercased()
    }

    /// Makes an error at this token.
    func fault(_ message: String) -> SchemaSyntaxError {
        SchemaSyntaxError(line: line, column: column, message: message)
    }

    /// Makes the error of a token where others were expected.
    func expected(_ expected: String) -> SchemaSyntaxError { fault("met \(shown), expected \(expected)") }
}

/// Splits a text of the schema language into tokens; comments and white space separate them.
struct SchemaLexer {
    private let bytes: [UInt8]
    private var position = 0
    private var line = 1
    private var column = 1

    init(_ text: String) { bytes = Array(text.utf8) }

    /// Returns the next token; at the end of the text `end`, however often.
    mutating func next() throws(SchemaSyntaxError) -> SchemaToken {
        try skipBlanks()
        let start = SchemaToken(kind: .end, line: line, column: column)
        guard let byte = peek() else { return start }
        var token = start
        switch byte {
        case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "<"),
            UInt8(ascii: ">"):
            advance()
            token.kind = .sign(Character(Unicode.Scalar(byte)))
        case UInt8(ascii: "\""): token.kind = .quoted(try quotedName(from: start))
        case _ where Self.beginsWord(byte): token.kind = .word(word())
        default: throw start.fault(Self.strayCharacter(in: bytes[position...]))
        }
        return token
    }

    private func peek(_ offset: Int = 0) -> UInt8? {
        position + offset < bytes.count ? bytes[position + offset] : nil
    }

    private mutating func advance() {
        let byte = bytes[position]
        position += 1
        if byte == UInt8(ascii: "\n") {
            line += 1
            column = 1
        } else if byte & 0xC0 != 0x80 {
            // The first byte of a character; the others do not count.
            column += 1
        }
    }

    private mutating func skipBlanks() throws(SchemaSyntaxError) {
        while let byte = peek() {
            switch (byte, peek(1)) {
            case (UInt8(ascii: " "), _), (UInt8(ascii: "\t"), _), (UInt8(ascii: "\r"), _), (UInt8(ascii: "\n"), _):
                advance()
            case (UInt8(ascii: "/"), UInt8(ascii: "/")?), (UInt8(ascii: "-"), UInt8(ascii: "-")?):
                while let byte = peek(), byte != UInt8(ascii: "\n") { advance() }
            case (UInt8(ascii: "/"), UInt8(ascii: "*")?): try skipComment()
            default: return
            }
        }
    }

    private mutating func skipComment() throws(SchemaSyntaxError) {
        let start = SchemaToken(kind: .end, line: line, column: column)
        advance()
        advance()
        while peek() != nil {
            if peek() == UInt8(ascii: "*"), peek(1) == UInt8(ascii: "/") {
                advance()
                advance()
                return
            }
            advance()
        }
        throw start.fault("the comment that begins here has no end, expected '*/'")
    }

    private mutating func quotedName(from start: SchemaToken) throws(SchemaSyntaxError) -> String {
        advance()
        let first = position
        while let byte = peek(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") { break }
            advance()
        }
        let name = String(decoding: bytes[first..<position], as: UTF8.self)
        guard peek() == UInt8(ascii: "\"") else {
            throw start.fault("the name that begins here has no end, expected '\"'")
        }
        advance()
        return name
    }

    private mutating func word() -> String {
        let first = position
        while let byte = peek(), Self.beginsWord(byte) || (0x30...0x39).contains(byte) { advance() }
        return String(decoding: bytes[first..<position], as: UTF8.self)
    }

    private static func beginsWord(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_")
    }

    private static func strayCharacter(in rest: ArraySlice<UInt8>) -> String {
        let character = String(decoding: rest.prefix(4), as: UTF8.self).unicodeScalars.first.map(String.init) ?? ""
        if ["\u{201C}", "\u{201D}", "\u{2018}", "\u{2019}"].contains(character) {
            return "met a typographic quote, expected the straight one '\"'"
        }
        return "met the character '\(character)', expected a name, a keyword or one of ( ) , ; < >"
    }
}
