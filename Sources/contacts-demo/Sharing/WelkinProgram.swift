import CloudKit

/// The steps that users take outside of apps, with the `welkin` program: sign up, open a link.
struct WelkinProgram: Sendable {
    let welkin: String
    let container: String

    /// Creates an account and signs in a profile.
    func signUp(_ email: String, profile: String) throws {
        try run(
            ["sign-up", "--email", email, "--container", container, "--profile", profile, "--password-stdin"],
            input: UUID().uuidString)
    }

    /// Opens a link as the desktop does; the app receives it.
    func open(_ link: URL, profile: String) throws {
        try run(["open", "--yes", "--profile", profile, link.absoluteString], input: "")
    }

    private func run(_ arguments: [String], input: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: welkin)
        process.arguments = arguments
        let (stdin, output) = (Pipe(), Pipe())
        process.standardInput = stdin
        process.standardOutput = output
        process.standardError = output
        try process.run()
        try stdin.fileHandleForWriting.write(contentsOf: Data((input + "\n").utf8))
        try stdin.fileHandleForWriting.close()
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw DemoFailure(
                .unexpected,
                "welkin \(arguments[0]) ended with \(process.terminationStatus): "
                    + String(decoding: said, as: UTF8.self))
        }
    }
}
