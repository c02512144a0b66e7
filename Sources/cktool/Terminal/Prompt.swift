import ArgumentParser
import Foundation

/// Questions to the person at the terminal.
enum Prompt {
    /// A Boolean value that indicates whether standard input is a terminal.
    static var isPossible: Bool { isatty(STDIN_FILENO) == 1 }

    /// Returns the answer to a question.
    ///
    /// - Throws: `ValidationError` that says which argument to give, without a terminal.
    static func ask(_ question: String, orGive argument: String) throws -> String {
        guard isPossible else { throw Self.notInteractive(argument) }
        ToolOutput.write(question, to: 2)
        return (readLine() ?? "").trimmingCharacters(in: .whitespaces)
    }

    /// Asks for a confirmation.
    ///
    /// - Throws: `ValidationError` that says which argument to give, without a terminal; `ToolFailure` when the person declines.
    static func confirm(_ question: String, orGive argument: String) throws {
        let answer = try ask(question + " (yes/no) ", orGive: argument).lowercased()
        guard answer == "yes" || answer == "y" else { throw ToolFailure("Nothing was done.") }
    }

    /// Returns a line that is typed without being shown, or the first line of standard input without a terminal.
    static func secret(_ name: String) -> String {
        guard isPossible else { return readLine() ?? "" }
        ToolOutput.write(name + ": ", to: 2)
        var shown = termios()
        tcgetattr(STDIN_FILENO, &shown)
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &hidden)
        defer {
            tcsetattr(STDIN_FILENO, TCSADRAIN, &shown)
            ToolOutput.write("\n", to: 2)
        }
        return readLine() ?? ""
    }

    private static func notInteractive(_ argument: String) -> ValidationError {
        ValidationError("Interaction was required while running in non-interactive mode. Give \(argument).")
    }
}
