import Foundation

/// Reads secrets from the terminal, a file or standard input; never from arguments, which other processes can see.
enum Secret {
    /// Reads a password.
    ///
    /// - Parameters:
    ///   - path: A file; `-` for standard input; nil for the terminal, or standard input without one.
    ///   - isNew: Whether it has to be typed twice and be long enough.
    ///   - options: The options that give it without a terminal, for the error of an empty one.
    static func password(
        from path: String?, isNew: Bool, name: String = "Password", options: String
    ) throws -> String {
        let password = try read(from: path, asking: name, twice: isNew)
        guard !password.isEmpty else {
            throw CommandFailure(
                "The \(name.lowercased()) is empty. Type it in a terminal, or give it with \(options).")
        }
        guard !isNew || password.count >= 8 else {
            throw CommandFailure("The \(name.lowercased()) is too short; use at least 8 characters.")
        }
        return password
    }

    /// Reads one line from a file, standard input or the terminal.
    static func read(from path: String?, asking name: String, twice: Bool = false) throws -> String {
        guard let path else { return try ask(name, twice: twice) }
        guard path != "-" else { return readLine() ?? "" }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure("The file \(path) cannot be read.")
        }
        let text = String(decoding: data, as: UTF8.self)
        return String(text.prefix { $0 != "\n" && $0 != "\r\n" })
    }

    private static func ask(_ name: String, twice: Bool) throws -> String {
        guard isatty(STDIN_FILENO) == 1 else { return readLine() ?? "" }
        let secret = prompt(name + ": ")
        if twice, prompt("Repeat: ") != secret {
            throw CommandFailure("The two passwords differ.")
        }
        return secret
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
