import ArgumentParser
import Foundation

/// Where a password comes from: a file, standard input, or someone at the terminal.
struct PasswordOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Take the password from the first line of a file; - is standard input.", valueName: "file"))
    var passwordFile: String?

    /// - Parameter isNew: Whether it has to be typed twice and long enough.
    func read(isNew: Bool) throws -> String {
        let password = try passwordFile.map(Self.firstLine) ?? Self.ask(twice: isNew)
        guard !password.isEmpty else { throw ValidationError("The password is empty.") }
        guard !isNew || password.count >= 8 else {
            throw ValidationError("The password is too short; use at least 8 characters.")
        }
        return password
    }

    private static func firstLine(of path: String) throws -> String {
        guard path != "-" else { return readLine() ?? "" }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ValidationError("The password file \(path) cannot be read.")
        }
        let text = String(decoding: data, as: UTF8.self)
        return String(text.prefix { $0 != "\n" && $0 != "\r\n" })
    }

    private static func ask(twice: Bool) throws -> String {
        guard isatty(STDIN_FILENO) == 1 else { return readLine() ?? "" }
        let password = prompt("Password: ")
        if twice, prompt("Once more: ") != password {
            throw ValidationError("The two passwords differ.")
        }
        return password
    }

    /// Reads a line without showing it.
    private static func prompt(_ text: String) -> String {
        Output.write(text, to: 2)
        var shown = termios()
        tcgetattr(STDIN_FILENO, &shown)
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown)
            Output.write("\n", to: 2)
        }
        return readLine() ?? ""
    }
}

/// How expensive guessing a new password is made.
struct RoundsOption: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("Rounds of PBKDF2 for the password; fewer only for tests.", visibility: .hidden))
    var rounds: Int = 600_000

    func validate() throws {
        guard (1...10_000_000).contains(rounds) else { throw ValidationError("--rounds is 1 to 10000000.") }
    }
}
