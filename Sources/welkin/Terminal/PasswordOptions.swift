import ArgumentParser

/// The options for the source of a password: a file, standard input, or the terminal.
struct PasswordOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Take the password from the first line of a file; - is standard input.", valueName: "file"))
    var passwordFile: String?
    @Flag(name: .long, help: "Take the password from the first line of standard input.")
    var passwordStdin = false

    func validate() throws {
        guard passwordFile == nil || !passwordStdin else {
            throw ValidationError("Give --password-file or --password-stdin, not both.")
        }
    }

    /// Reads the password.
    ///
    /// - Parameter isNew: Whether it has to be typed twice and be long enough.
    func read(isNew: Bool) throws -> String {
        try Secret.password(
            from: passwordStdin ? "-" : passwordFile, isNew: isNew, options: "--password-file or --password-stdin")
    }
}

/// The options for the source of a new password, in addition to the present one.
struct NewPasswordOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Take the new password from the first line of a file; - is the next line of standard input.",
            valueName: "file"))
    var newPasswordFile: String?

    func read() throws -> String {
        try Secret.password(
            from: newPasswordFile, isNew: true, name: "New password", options: "--new-password-file")
    }
}

/// The option for the rounds of key derivation.
struct RoundsOption: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Rounds of PBKDF2 for a password, and the fewest to accept; fewer only for tests.", visibility: .hidden))
    var rounds: Int = 600_000

    func validate() throws {
        guard (1...10_000_000).contains(rounds) else { throw ValidationError("--rounds is 1 to 10000000.") }
    }
}
