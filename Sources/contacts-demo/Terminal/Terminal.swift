import CloudKit

/// The output of the demonstration: headings, aligned rows, tables; plain lines without a terminal.
struct Terminal: Sendable {
    /// Whether standard output is a terminal, which supports colours and overwritten lines.
    let isInteractive: Bool
    let isColoured: Bool
    let isVerbose: Bool
    /// The columns of the window; without a terminal there is no limit.
    let columns: Int

    static let labelWidth = 26

    init(verbose: Bool) {
        let variables = ProcessInfo.processInfo.environment
        isInteractive = isatty(STDOUT_FILENO) == 1 && variables["TERM"] != "dumb"
        isColoured = isInteractive && (variables["NO_COLOR"] ?? "").isEmpty
        isVerbose = verbose
        columns = isInteractive ? Self.windowColumns : .max
    }

    /// The columns of the terminal's window; 80 if it does not say.
    private static var windowColumns: Int {
        var window = winsize()
        let known = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0 && window.ws_col > 0
        return known ? Int(window.ws_col) : 80
    }

    func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
    func line(_ text: String = "") { write(text + "\n") }

    func heading(_ number: Int, _ title: String) {
        let rule = String(repeating: "─", count: max(4, 74 - title.count))
        line("\n" + styled("\(number)  \(title) \(rule)", "1;36"))
    }

    /// Prints `label  value  detail` in columns; what does not fit goes below.
    func row(_ label: String, _ value: String, _ detail: String = "") {
        for part in Layout(columns: columns).row(label, value: value, detail: detail) {
            line(part.text + (part.detail.isEmpty ? "" : styled(part.detail, "2")))
        }
    }

    /// Prints a line if `--verbose` is given.
    func detail(_ text: @autoclosure () -> String) {
        if isVerbose { wrapped("· " + text(), "2") }
    }

    func warning(_ text: String) { wrapped("! " + text, "33") }

    func success(_ text: String) { line("\n" + styled("✓ " + text, "1;32")) }

    private func wrapped(_ text: String, _ code: String) {
        for part in Layout(columns: columns).wrapped(text, indent: 3) { line(styled(part, code)) }
    }

    func table(_ titles: [String], _ rows: [[String]]) {
        for (text, isTitle) in Layout(columns: columns).table(titles, rows) {
            line(isTitle ? styled(text, "4") : text)
        }
    }

    func styled(_ text: String, _ code: String) -> String { isColoured ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text }
}

extension String {
    var trimmingTrailingSpaces: String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }

    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - displayWidth)) }

    /// Returns the text in at most `width` columns, with an ellipsis if it is cut.
    func clipped(to width: Int) -> String {
        guard displayWidth > width else { return self }
        var text = ""
        for character in self {
            guard (text + String(character)).displayWidth < width else { break }
            text.append(character)
        }
        return text + "…"
    }

    /// Columns of a terminal: East Asian wide characters take two, marks none.
    var displayWidth: Int { reduce(0) { $0 + $1.displayWidth } }
}

extension Character {
    fileprivate var displayWidth: Int {
        // A character's marks (vowel signs, accents) share the column of its base.
        guard let base = unicodeScalars.first else { return 0 }
        switch base.value {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
            return 2
        default:
            return base.properties.generalCategory == .format ? 0 : 1
        }
    }
}
