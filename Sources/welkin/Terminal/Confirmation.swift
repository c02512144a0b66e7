import Foundation

/// Asks before something that cannot be undone.
enum Confirmation {
    /// Whether there is a terminal, and so perhaps somebody at it.
    static var isPossible: Bool { isatty(STDIN_FILENO) == 1 }

    /// Whether somebody at the terminal typed yes; nobody there is a no.
    static func ask(_ text: String) -> Bool {
        guard isPossible else { return false }
        Output.write(text, to: 2)
        return readLine()?.trimmingCharacters(in: .whitespaces).lowercased() == "yes"
    }

    /// Lets whoever is at the terminal read on; does nothing where nobody is.
    static func waitForReturn() {
        guard isPossible else { return }
        Output.write("Press Return to close. ", to: 2)
        _ = readLine()
    }
}
