/// JSON that keeps the order of its keys and the letters of its numbers, to be shown to readers.
indirect enum JSONTree {
    /// A string with its quotes, a number, or a word.
    case scalar(String)
    case array([JSONTree])
    case object([(key: String, value: JSONTree)])

    /// Parses a text; nil if it is not JSON.
    init?(_ text: String) {
        var reader = Reader(text: Array(text.unicodeScalars))
        guard let tree = reader.value(), reader.isAtEnd else { return nil }
        self = tree
    }

    /// True for an array or object that is not empty.
    private var isFilled: Bool {
        switch self {
        case .scalar: false
        case .array(let items): !items.isEmpty
        case .object(let pairs): !pairs.isEmpty
        }
    }

    /// On one line.
    var line: String {
        switch self {
        case .scalar(let text): text
        case .array(let items): items.isEmpty ? "[]" : "[" + items.map(\.line).joined(separator: ", ") + "]"
        case .object(let pairs):
            pairs.isEmpty ? "{}" : "{ " + pairs.map { "\($0.key): \($0.value.line)" }.joined(separator: ", ") + " }"
        }
    }

    /// On as many lines as it takes.
    ///
    /// - Parameter width: The most letters of a line that holds more than one value.
    func text(width: Int, indent: Int = 0, lead: Int = 0) -> String {
        let line = line
        if !isFilled || indent + lead + line.count <= width { return line }
        let inner = String(repeating: " ", count: indent + 2)
        let end = "\n" + String(repeating: " ", count: indent)
        switch self {
        case .scalar: return line
        case .array(let items):
            let lines = items.map { inner + $0.text(width: width, indent: indent + 2) }
            return "[\n" + lines.joined(separator: ",\n") + end + "]"
        case .object(let pairs):
            let lines = pairs.map {
                "\(inner)\($0.key): " + $0.value.text(width: width, indent: indent + 2, lead: $0.key.count + 2)
            }
            return "{\n" + lines.joined(separator: ",\n") + end + "}"
        }
    }

    private struct Reader {
        var text: [Unicode.Scalar]
        var position = 0

        var isAtEnd: Bool {
            mutating get {
                skipSpace()
                return position == text.count
            }
        }

        mutating func value() -> JSONTree? {
            skipSpace()
            guard position < text.count else { return nil }
            switch text[position] {
            case "{": return object()
            case "[": return array()
            case "\"": return string().map { .scalar($0) }
            default: return word()
            }
        }

        private mutating func object() -> JSONTree? {
            position += 1
            var pairs: [(key: String, value: JSONTree)] = []
            if take("}") { return .object([]) }
            repeat {
                skipSpace()
                guard let key = string(), take(":"), let value = value() else { return nil }
                pairs.append((key, value))
            } while take(",")
            return take("}") ? .object(pairs) : nil
        }

        private mutating func array() -> JSONTree? {
            position += 1
            var items: [JSONTree] = []
            if take("]") { return .array([]) }
            repeat {
                guard let value = value() else { return nil }
                items.append(value)
            } while take(",")
            return take("]") ? .array(items) : nil
        }

        private mutating func string() -> String? {
            guard position < text.count, text[position] == "\"" else { return nil }
            let start = position
            position += 1
            while position < text.count, text[position] != "\"" {
                position += text[position] == "\\" ? 2 : 1
            }
            guard position < text.count else { return nil }
            position += 1
            return piece(from: start)
        }

        private mutating func word() -> JSONTree? {
            let start = position
            while position < text.count, !"{}[]:, \n\t\r\"".unicodeScalars.contains(text[position]) { position += 1 }
            return position > start ? .scalar(piece(from: start)) : nil
        }

        private func piece(from start: Int) -> String {
            var piece = String.UnicodeScalarView()
            piece.append(contentsOf: text[start..<position])
            return String(piece)
        }

        private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
            skipSpace()
            guard position < text.count, text[position] == scalar else { return false }
            position += 1
            return true
        }

        private mutating func skipSpace() {
            while position < text.count, " \n\t\r".unicodeScalars.contains(text[position]) { position += 1 }
        }
    }
}
