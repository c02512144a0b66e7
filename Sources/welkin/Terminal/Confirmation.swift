import Foundation

/// Asks for confirmation before an irreversible step.
enum Confirmation {
    /// Whether standard input is a terminal.
    static var isPossible: Bool { isatty(STDIN_FILENO) == 1 }

    /// Returns whether the user typed yes; false without a terminal.
    static func ask(_ text: String) -> Bool {
        guard isPossible else { return false }
        Output.write(text, to: 2)
        return readLine()?.trimmingCharacters(in: .whitespaces).lowercased() == "yes"
    }

    /// Returns what the user typed; nil without a terminal, or at the end of what they type.
    static func answer(_ text: String) -> String? {
        guard isPossible else { return nil }
        Output.write(text, to: 2)
        return readLine()?.trimmingCharacters(in: .whitespaces)
    }

    /// Waits for Return; returns immediately without a terminal.
    static func waitForReturn() {
        guard isPossible else { return }
        Output.write("Press Return to close. ", to: 2)
        _ = readLine()
    }
}
