import Foundation

/// Parses a predicate format by recursive descent: Foundation's whole grammar, so that a condition which CloudKit
/// cannot run is refused by name (B-QRY-03) and not as a syntax error.
struct PredicateParser {
    private let tokens: [PredicateToken]
    private var index = 0
    private var arguments: ArraySlice<Any?>
    private var depth = 0

    /// Formats nested deeper than this are refused, so that none can exhaust the stack.
    private static let depthMax = 100

    /// Returns the tree of a format; `malformed` with the reason and the position if it cannot be read.
    static func tree(_ format: String, arguments: [Any?]) -> PredicateTree {
        do {
            var tokens = PredicateTokens(format)
            var parser = PredicateParser(tokens: try tokens.all(), arguments: arguments)
            return try parser.whole()
        } catch {
            return .malformed("\(error.reason), at character \(error.position)")
        }
    }

    private init(tokens: [PredicateToken], arguments: [Any?]) {
        self.tokens = tokens
        self.arguments = arguments[...]
    }

    /// The content of parentheses, which is known only after their end: a condition, or one side of one.
    private enum Node {
        case condition(PredicateTree)
        case expression(PredicateExpression)
    }

    private mutating func whole() throws(PredicateSyntaxError) -> PredicateTree {
        let tree = try condition(try disjunction())
        guard token.kind == .end else { throw unexpected }
        return tree
    }

    // MARK: Conditions

    private mutating func disjunction() throws(PredicateSyntaxError) -> Node {
        let first = try conjunction()
        guard isWord("OR") || isSign("||") else { return first }
        var parts = [try condition(first)]
        while takeWord("OR") || takeSign("||") {
            parts.append(try condition(try conjunction()))
        }
        return .condition(.or(parts))
    }

    private mutating func conjunction() throws(PredicateSyntaxError) -> Node {
        let first = try negation()
        guard isWord("AND") || isSign("&&") else { return first }
        var parts = [try condition(first)]
        while takeWord("AND") || takeSign("&&") {
            parts.append(try condition(try negation()))
        }
        return .condition(.and(parts))
    }

    private mutating func negation() throws(PredicateSyntaxError) -> Node {
        guard takeWord("NOT") || takeSign("!") else { return try comparison() }
        try enter()
        defer { depth -= 1 }
        return .condition(.not(try condition(try negation())))
    }

    private mutating func comparison() throws(PredicateSyntaxError) -> Node {
        let modifier = takeModifier()
        let left = try sum()
        guard let comparator = takeComparator() else {
            guard modifier == .direct else { throw unexpected }
            return left
        }
        let options = try takeOptions()
        let right = try expression(try sum())
        return .condition(
            .comparison(
                PredicateTree.Comparison(
                    left: try expression(left), comparator: comparator, right: right, modifier: modifier,
                    options: options)))
    }

    private mutating func takeModifier() -> PredicateTree.Comparison.Modifier {
        if takeWord("ANY") || takeWord("SOME") { return .any }
        if takeWord("ALL") { return .all }
        if takeWord("NONE") { return .none }
        return .direct
    }

    private static let comparators: [String: PredicateComparator] = [
        "=": .equal, "==": .equal, "!=": .notEqual, "<>": .notEqual, "<": .less, "<=": .lessOrEqual, "=<": .lessOrEqual,
        ">": .greater, ">=": .greaterOrEqual, "=>": .greaterOrEqual, "BETWEEN": .between, "IN": .in,
        "CONTAINS": .contains, "BEGINSWITH": .beginsWith, "ENDSWITH": .endsWith, "LIKE": .like, "MATCHES": .matches,
        "TOKENMATCHES": .tokenMatches,
    ]

    private mutating func takeComparator() -> PredicateComparator? {
        let spelling: String
        switch token.kind {
        case .sign(let sign): spelling = sign
        case .name(let name): spelling = name.uppercased()
        default: return nil
        }
        guard let comparator = Self.comparators[spelling] else { return nil }
        index += 1
        return comparator
    }

    private mutating func takeOptions() throws(PredicateSyntaxError) -> String {
        guard takeSign("[") else { return "" }
        guard case .name(let letters) = token.kind, letters.lowercased().allSatisfy({ "cdnlwt".contains($0) }) else {
            throw failure("the options of a comparison are letters of 'cdnl'")
        }
        index += 1
        try expectSign("]")
        return letters.lowercased()
    }

    // MARK: Sides

    private mutating func sum() throws(PredicateSyntaxError) -> Node {
        try arithmetic(signs: ["+", "-"]) { parser throws(PredicateSyntaxError) in try parser.product() }
    }

    private mutating func product() throws(PredicateSyntaxError) -> Node {
        try arithmetic(signs: ["*", "/", "**", "%", ":="]) { parser throws(PredicateSyntaxError) in
            try parser.signed()
        }
    }

    private mutating func arithmetic(
        signs: Set<String>, operand: (inout PredicateParser) throws(PredicateSyntaxError) -> Node
    ) throws(PredicateSyntaxError) -> Node {
        let first = try operand(&self)
        guard case .sign(let sign) = token.kind, signs.contains(sign) else { return first }
        var text = try expression(first).text
        while case .sign(let sign) = token.kind, signs.contains(sign) {
            index += 1
            text += " \(sign) \(try expression(try operand(&self)).text)"
        }
        return .expression(.other(text))
    }

    private mutating func signed() throws(PredicateSyntaxError) -> Node {
        guard takeSign("-") else { return try indexed() }
        try enter()
        defer { depth -= 1 }
        let operand = try expression(try signed())
        switch operand {
        case .constant(.int(let number)) where number != .min: return .expression(.constant(.int(-number)))
        case .constant(.double(let number)): return .expression(.constant(.double(-number)))
        default: return .expression(.other("-\(operand.text)"))
        }
    }

    /// A side with what may follow it: `.key` and `[index]`.
    private mutating func indexed() throws(PredicateSyntaxError) -> Node {
        var node = try primary()
        while isSign(".") || isSign("[") {
            let before = try expression(node)
            if takeSign(".") {
                node = .expression(try Self.joined(before, try pathPart()))
            } else {
                try enter()
                defer { depth -= 1 }
                index += 1
                let inside = try indexText()
                try expectSign("]")
                node = .expression(.other("\(before.text)[\(inside)]"))
            }
        }
        return node
    }

    private mutating func indexText() throws(PredicateSyntaxError) -> String {
        try expression(try sum()).text
    }

    private mutating func pathPart() throws(PredicateSyntaxError) -> String {
        defer { index += 1 }
        switch token.kind {
        case .name(let name), .escapedName(let name): return name
        case .atName(let name): return "@\(name)"
        case .placeholder("K"): return try keyArgument()
        default: throw unexpected
        }
    }

    private static func joined(
        _ holder: PredicateExpression, _ part: String
    ) throws(PredicateSyntaxError) -> PredicateExpression {
        switch holder {
        case .key(let key): .key("\(key).\(part)")
        case .itself: .key(part)
        default: .other("\(holder.text).\(part)")
        }
    }

    private mutating func primary() throws(PredicateSyntaxError) -> Node {
        let start = token
        index += 1
        switch start.kind {
        case .string(let text): return .expression(.constant(.string(text)))
        case .integer(let number): return .expression(.constant(.int(number)))
        case .double(let number): return .expression(.constant(.double(number)))
        case .variable(let name): return .expression(.variable(name))
        case .escapedName(let name): return .expression(.key(name))
        case .atName(let name): return .expression(.key("@\(name)"))
        case .name(let name): return try word(name, start)
        case .placeholder(let letter):
            index -= 1
            defer { index += 1 }
            return .expression(try argument(letter))
        case .sign("("): return try parentheses()
        case .sign("{"): return .expression(.aggregate(try list(until: "}")))
        default:
            index -= 1
            throw unexpected
        }
    }

    private mutating func parentheses() throws(PredicateSyntaxError) -> Node {
        try enter()
        defer { depth -= 1 }
        let inside = try disjunction()
        try expectSign(")")
        return inside
    }

    private mutating func word(_ name: String, _ start: PredicateToken) throws(PredicateSyntaxError) -> Node {
        switch name.uppercased() {
        case "TRUEPREDICATE": return .condition(.constant(true))
        case "FALSEPREDICATE": return .condition(.constant(false))
        case "TRUE", "YES": return .expression(.constant(.bool(true)))
        case "FALSE", "NO": return .expression(.constant(.bool(false)))
        case "NIL", "NULL": return .expression(.constant(.null))
        case "SELF": return .expression(.itself)
        case let upper where PredicateToken.reservedWords.contains(upper):
            throw PredicateSyntaxError(reason: "'\(name)' is not expected", position: start.position)
        default: break
        }
        guard takeSign("(") else {
            if name.contains(":") {
                throw PredicateSyntaxError(reason: "'(' is expected after '\(name)'", position: start.position)
            }
            return .expression(.key(name))
        }
        return .expression(.function(name, try list(until: ")")))
    }

    /// Sides with commas between them. A condition among them (a subquery's) is kept as its text.
    private mutating func list(until end: String) throws(PredicateSyntaxError) -> [PredicateExpression] {
        try enter()
        defer { depth -= 1 }
        var parts: [PredicateExpression] = []
        if takeSign(end) { return parts }
        repeat {
            switch try disjunction() {
            case .expression(let part): parts.append(part)
            case .condition(let part): parts.append(.other(part.text))
            }
        } while takeSign(",")
        try expectSign(end)
        return parts
    }

    // MARK: Arguments

    private mutating func argument(_ letter: Character) throws(PredicateSyntaxError) -> PredicateExpression {
        if letter == "K" { return .key(try keyArgument()) }
        let value = PredicateValue(try nextArgument())
        if letter == "@" { return .constant(value) }
        return .constant(try Self.converted(value, letter, at: token.position))
    }

    private mutating func keyArgument() throws(PredicateSyntaxError) -> String {
        guard case .string(let key) = PredicateValue(try nextArgument()), !key.isEmpty else {
            throw failure("'%K' takes the name of a key")
        }
        return key
    }

    private mutating func nextArgument() throws(PredicateSyntaxError) -> Any? {
        guard let argument = arguments.popFirst() else {
            throw failure("there are fewer arguments than placeholders")
        }
        return argument
    }

    private static func converted(
        _ value: PredicateValue, _ letter: Character, at position: Int
    ) throws(PredicateSyntaxError) -> PredicateValue {
        switch (letter == "i" ? "d" : letter, value) {
        case ("d", .int), ("d", .unsigned), ("f", .double): return value
        case ("d", .bool(let flag)): return .int(flag ? 1 : 0)
        case ("d", .double(let number)):
            if let whole = Int64(exactly: number.rounded(.towardZero)) { return .int(whole) }
        case ("f", .int(let number)): return .double(Double(number))
        case ("f", .unsigned(let number)): return .double(Double(number))
        case ("f", .bool(let flag)): return .double(flag ? 1 : 0)
        case ("s", .string): return value
        case ("c", .int(let number)):
            if let scalar = UInt32(exactly: number).flatMap(Unicode.Scalar.init) {
                return .string(String(Character(scalar)))
            }
        default: break
        }
        throw PredicateSyntaxError(reason: "the argument does not fit its placeholder", position: position)
    }

    // MARK: Tokens

    private var token: PredicateToken { tokens[min(index, tokens.count - 1)] }

    private func isSign(_ sign: String) -> Bool { token.kind == .sign(sign) }

    private mutating func takeSign(_ sign: String) -> Bool {
        guard isSign(sign) else { return false }
        index += 1
        return true
    }

    private mutating func expectSign(_ sign: String) throws(PredicateSyntaxError) {
        guard takeSign(sign) else { throw failure("'\(sign)' is expected") }
    }

    private func isWord(_ word: String) -> Bool {
        if case .name(let name) = token.kind { name.uppercased() == word } else { false }
    }

    private mutating func takeWord(_ word: String) -> Bool {
        guard isWord(word) else { return false }
        index += 1
        return true
    }

    private mutating func enter() throws(PredicateSyntaxError) {
        depth += 1
        guard depth <= Self.depthMax else { throw failure("it is nested more than \(Self.depthMax) deep") }
    }

    private func condition(_ node: Node) throws(PredicateSyntaxError) -> PredicateTree {
        guard case .condition(let tree) = node else { throw failure("a comparison is expected") }
        return tree
    }

    private func expression(_ node: Node) throws(PredicateSyntaxError) -> PredicateExpression {
        guard case .expression(let expression) = node else { throw failure("a value or a key is expected") }
        return expression
    }

    private var unexpected: PredicateSyntaxError {
        failure(token.kind == .end ? "the format ends too early" : "this is not expected")
    }

    private func failure(_ reason: String) -> PredicateSyntaxError {
        PredicateSyntaxError(reason: reason, position: token.position)
    }
}
