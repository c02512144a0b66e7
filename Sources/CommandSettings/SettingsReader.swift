/// Reads the settings of a file one after another.
struct SettingsReader {
    private var rest: Substring
    private var line = 1

    init(_ text: String) { rest = text[...] }

    /// Returns the next setting; nil at the end of the file.
    mutating func nextEntry() throws(SettingsFileError) -> SettingsFile.Entry? {
        skipBlank(acrossLines: true)
        guard let first = rest.first else { return nil }
        if first == "[" {
            throw mistake("tables are not used; write the whole name of the option, as in `log-days = 30`")
        }
        let begin = line
        let name = String(rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
        guard !name.isEmpty else { throw mistake("expected the name of a setting, found `\(first)`") }
        rest.removeFirst(name.count)
        skipBlank(acrossLines: false)
        guard rest.first == "=" else { throw mistake("expected `=` after `\(name)`") }
        rest.removeFirst()
        skipBlank(acrossLines: false)
        let value = try value()
        skipBlank(acrossLines: false)
        guard rest.isEmpty || rest.first?.isNewline == true else {
            throw mistake("expected the end of the line after the value of `\(name)`")
        }
        return SettingsFile.Entry(name: name, value: value, line: begin)
    }

    private mutating func value() throws(SettingsFileError) -> SettingValue {
        guard rest.first == "[" else {
            let scalar = try scalar()
            if !scalar.isQuoted, let flag = Bool(scalar.text) { return .flag(flag) }
            return .text(scalar.text)
        }
        rest.removeFirst()
        var items: [String] = []
        while true {
            skipBlank(acrossLines: true)
            if rest.first == "]" { break }
            items.append(try scalar().text)
            skipBlank(acrossLines: true)
            if rest.first == "," {
                rest.removeFirst()
            } else if rest.first != "]" {
                throw mistake("expected `,` or `]` in a list")
            }
        }
        rest.removeFirst()
        return .list(items)
    }

    private mutating func scalar() throws(SettingsFileError) -> (text: String, isQuoted: Bool) {
        guard let quote = rest.first, !quote.isNewline else { throw mistake("expected a value") }
        if quote == "\"" || quote == "'" { return (try quoted(by: quote), true) }
        let word = String(rest.prefix { !$0.isWhitespace && !",]#".contains($0) })
        let isNumber = !word.isEmpty && word.first != "_" && Double(word.filter { $0 != "_" })?.isFinite == true
        guard isNumber || Bool(word) != nil else {
            throw mistake("expected a number, true, false, or a text in quotes, found `\(word)`")
        }
        rest.removeFirst(word.count)
        return (isNumber ? word.filter { $0 != "_" } : word, false)
    }

    /// Reads a text in quotes; only those in double quotes have escapes.
    private mutating func quoted(by quote: Character) throws(SettingsFileError) -> String {
        rest.removeFirst()
        var text = ""
        while let next = rest.first, !next.isNewline {
            rest.removeFirst()
            if next == quote { return text }
            guard quote == "\"", next == "\\" else {
                text.append(next)
                continue
            }
            let escape = rest.popFirst()
            switch escape {
            case "\"", "\\": text.append(escape ?? "\\")
            case "n": text.append("\n")
            case "t": text.append("\t")
            default: throw mistake("the escapes of a text are \\\" \\\\ \\n and \\t")
            }
        }
        throw mistake("a text ends with the quote that began it, on the same line")
    }

    private mutating func skipBlank(acrossLines: Bool) {
        while let next = rest.first {
            if next == "#" {
                rest = rest.drop { !$0.isNewline }
            } else if next.isNewline {
                guard acrossLines else { return }
                line += 1
                rest.removeFirst()
            } else if next.isWhitespace {
                rest.removeFirst()
            } else {
                return
            }
        }
    }

    private func mistake(_ reason: String) -> SettingsFileError { SettingsFileError(line: line, reason: reason) }
}
