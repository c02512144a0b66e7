import Foundation

/// Asks before something that cannot be undone.
enum Confirmation {
    /// Whether somebody at the terminal typed yes; nobody there is a no.
    static func ask(_ text: String) -> Bool {
        guard isatty(STDIN_FILENO) == 1 else { return false }
        Output.write(text, to: 2)
        return readLine()?.trimmingCharacters(in: .whitespaces).lowercased() == "yes"
    }

    /// Lets whoever is at the terminal read on; does nothing where nobody is.
    static func waitForReturn() {
        guard isatty(STDIN_FILENO) == 1 else { return }
        Output.write("Press Return to close. ", to: 2)
        _ = readLine()
    }
}
