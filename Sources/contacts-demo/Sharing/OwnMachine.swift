import CloudKit

/// What people do on their machines outside of any app: make an account, open a link.
struct OwnMachine: Sendable {
    let welkin: String
    let container: String

    /// Makes an account and signs a profile in to it.
    func signUp(_ email: String, profile: String) throws {
        try run(
            ["sign-up", "--email", email, "--container", container, "--profile", profile, "--password-stdin"],
            input: UUID().uuidString)
    }

    /// Opens a link as the desktop does; the app is told.
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
