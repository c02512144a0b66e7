/// A word, sign, literal or placeholder of a predicate's format.
struct PredicateToken: Equatable {
    enum Kind: Equatable {
        /// A name; also `distanceToLocation:fromLocation:`.
        case name(String)
        /// A name after `#`: never a word of the language.
        case escapedName(String)
        /// A name after `@`.
        case atName(String)
        /// A name after `$`.
        case variable(String)
        case string(String)
        case integer(Int64)
        case double(Double)
        case sign(String)
        /// The letter of a conversion: `@`, `K`, `d` for wide whole numbers, `i` for others, `f`, `c`, `s`.
        case placeholder(Character)
        case end
    }

    var kind: Kind
    /// Counted in characters from 1.
    var position: Int

    /// Words that are keys only when escaped.
    static let reservedWords: Set<String> = [
        "AND", "OR", "NOT", "ANY", "SOME", "ALL", "NONE", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE",
        "MATCHES", "TOKENMATCHES", "TRUE", "FALSE", "YES", "NO", "NIL", "NULL", "SELF", "TRUEPREDICATE",
        "FALSEPREDICATE",
    ]
}

/// The reason and the position of a syntax error in a format.
struct PredicateSyntaxError: Error, Equatable {
    var reason: String
    var position: Int
}

/// Cuts a format into tokens.
struct PredicateTokens {
    private let scalars: [Unicode.Scalar]
    private var index = 0

    init(_ format: String) {
        scalars = Array(format.unicodeScalars)
    }

    mutating func all() throws(PredicateSyntaxError) -> [PredicateToken] {
        var tokens: [PredicateToken] = []
        while true {
            let token = try next()
            tokens.append(token)
            if token.kind == .end { return tokens }
        }
    }

    private mutating func next() throws(PredicateSyntaxError) -> PredicateToken {
        while let scalar = current, scalar.properties.isWhitespace { index += 1 }
        let position = index + 1
        guard let scalar = current else { return PredicateToken(kind: .end, position: position) }
        return PredicateToken(kind: try kind(startingWith: scalar, at: position), position: position)
    }

    private mutating func kind(
        startingWith scalar: Unicode.Scalar, at position: Int
    ) throws(PredicateSyntaxError) -> PredicateToken.Kind {
        switch scalar {
        case "'", "\"": return .string(try string(quote: scalar, at: position))
        case "%": return try placeholder(at: position)
        case "#": return .escapedName(try prefixedName(at: position))
        case "@": return .atName(try prefixedName(at: position))
        case "$": return .variable(try prefixedName(at: position))
        case _ where Self.startsName(scalar): return .name(name(withColons: true))
        case _ where Self.isDigit(scalar): return try number(at: position)
        case "." where peek(1).map(Self.isDigit) == true: return try number(at: position)
        default: return .sign(try sign(at: position))
        }
    }

    // MARK: Names

    private mutating func prefixedName(at position: Int) throws(PredicateSyntaxError) -> String {
        index += 1
        guard let scalar = current, Self.startsName(scalar) else {
            throw PredicateSyntaxError(reason: "a name is expected", position: position + 1)
        }
        return name(withColons: false)
    }

    private mutating func name(withColons: Bool) -> String {
        var text = String.UnicodeScalarView()
        while let scalar = current {
            let isColonOfName =
                withColons && scalar == ":" && peek(1).map { Self.startsName($0) || $0 == "(" } == true
            guard Self.continuesName(scalar) || isColonOfName else { break }
            text.append(scalar)
            index += 1
        }
        return String(text)
    }

    private static func startsName(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "_" || scalar.properties.isAlphabetic
    }

    private static func continuesName(_ scalar: Unicode.Scalar) -> Bool {
        startsName(scalar) || isDigit(scalar) || scalar == "$"
            || scalar.properties.canonicalCombiningClass != .notReordered
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool {
        ("0"..."9").contains(scalar)
    }

    // MARK: Literals

    private mutating func string(quote: Unicode.Scalar, at position: Int) throws(PredicateSyntaxError) -> String {
        var text = String.UnicodeScalarView()
        index += 1
        while let scalar = current {
            index += 1
            switch scalar {
            case quote: return String(text)
            case "\\": text.append(try escape(at: index))
            default: text.append(scalar)
            }
        }
        throw PredicateSyntaxError(reason: "the string has no end", position: position)
    }

    private mutating func escape(at position: Int) throws(PredicateSyntaxError) -> Unicode.Scalar {
        guard let scalar = current else {
            throw PredicateSyntaxError(reason: "the string has no end", position: position)
        }
        index += 1
        switch scalar {
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "u": return try hexadecimal(digits: 4, at: position)
        case "x": return try hexadecimal(digits: 2, at: position)
        default: return scalar
        }
    }

    private mutating func hexadecimal(
        digits: Int, at position: Int
    ) throws(PredicateSyntaxError) -> Unicode.Scalar {
        let text = String(String.UnicodeScalarView(scalars[index..<min(index + digits, scalars.count)]))
        guard text.count == digits, let number = UInt32(text, radix: 16), let scalar = Unicode.Scalar(number) else {
            throw PredicateSyntaxError(reason: "\(digits) hexadecimal digits are expected", position: position)
        }
        index += digits
        return scalar
    }

    private mutating func number(at position: Int) throws(PredicateSyntaxError) -> PredicateToken.Kind {
        let start = index
        if let radix = radix() {
            index += 2
            let text = digits { Character($0).isHexDigit }
            guard let number = Int64(text, radix: radix) else {
                throw PredicateSyntaxError(reason: "the number cannot be read", position: position)
            }
            return .integer(number)
        }
        _ = digits(Self.isDigit)
        if current == ".", peek(1).map(Self.isDigit) == true {
            index += 1
            _ = digits(Self.isDigit)
        }
        if current == "e" || current == "E" { takeExponent() }
        let text = String(String.UnicodeScalarView(scalars[start..<index]))
        if let whole = Int64(text) { return .integer(whole) }
        guard let number = Double(text.hasPrefix(".") ? "0" + text : text) else {
            throw PredicateSyntaxError(reason: "the number cannot be read", position: position)
        }
        return .double(number)
    }

    private func radix() -> Int? {
        guard current == "0" else { return nil }
        switch peek(1) {
        case "x", "X": return 16
        case "o": return 8
        case "b": return 2
        default: return nil
        }
    }

    private mutating func takeExponent() {
        let sign = peek(1) == "+" || peek(1) == "-" ? 1 : 0
        guard peek(1 + sign).map(Self.isDigit) == true else { return }
        index += 1 + sign
        _ = digits(Self.isDigit)
    }

    private mutating func digits(_ belongs: (Unicode.Scalar) -> Bool) -> String {
        let start = index
        while let scalar = current, belongs(scalar) { index += 1 }
        return String(String.UnicodeScalarView(scalars[start..<index]))
    }

    // MARK: Placeholders and signs

    private mutating func placeholder(at position: Int) throws(PredicateSyntaxError) -> PredicateToken.Kind {
        index += 1
        var isWide = false
        while let scalar = current, "hlqztjL".unicodeScalars.contains(scalar) {
            isWide = isWide || scalar != "h"
            index += 1
        }
        guard let scalar = current else {
            throw PredicateSyntaxError(reason: "a conversion is expected after '%'", position: position)
        }
        index += 1
        switch scalar {
        case "%": return .sign("%")
        case "@", "K": return .placeholder(Character(scalar))
        case "d", "D", "i", "u", "U", "x", "X", "o", "O": return .placeholder(isWide ? "d" : "i")
        case "f", "F", "g", "G", "e", "E", "a", "A": return .placeholder("f")
        case "c": return .placeholder("c")
        case "s", "S": return .placeholder("s")
        default: throw PredicateSyntaxError(reason: "an unknown conversion follows '%'", position: position)
        }
    }

    private static let signs = [
        "&&", "||", "==", "!=", "<>", "<=", "=<", ">=", "=>", "**", ":=", "=", "<", ">", "!", "+", "-", "*", "/", "(",
        ")",
        "{", "}", "[", "]", ",", ".", ":",
    ]

    private mutating func sign(at position: Int) throws(PredicateSyntaxError) -> String {
        for sign in Self.signs where scalars[index...].starts(with: sign.unicodeScalars) {
            index += sign.unicodeScalars.count
            return sign
        }
        throw PredicateSyntaxError(reason: "an unexpected character stands here", position: position)
    }

    private var current: Unicode.Scalar? { peek(0) }

    private func peek(_ distance: Int) -> Unicode.Scalar? {
        index + distance < scalars.count ? scalars[index + distance] : nil
    }
}
