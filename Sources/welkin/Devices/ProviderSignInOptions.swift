import ArgumentParser
import CloudKitDevice
import CloudKitUI

/// The options for a sign-in at the cloud's provider of identities.
struct ProviderSignInOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "With --provider: the recovery words, in the first line of a file; - is standard input.", valueName: "file")
    )
    var wordsFile: String?
    @Flag(
        help:
            "With --provider: do not wait for the keys of encrypted data; get them later with welkin keychain request.")
    var withoutKeys = false
    @Option(
        help: ArgumentHelp(
            "With --provider: the port of 127.0.0.1 to which the browser comes back, for one that is forwarded; by default any.",
            valueName: "number"))
    var port: UInt16?

    func check(isProvider: Bool) throws {
        guard isProvider || (wordsFile == nil && !withoutKeys && port == nil) else {
            throw ValidationError("--words-file, --without-keys and --port need --provider.")
        }
        if withoutKeys, wordsFile != nil { throw ValidationError("Give --words-file or --without-keys, not both.") }
    }

    /// Sends the person's browser to the provider, and waits until it comes back.
    func arrive(_ signIn: SignIn, container: String) async throws -> ProviderArrival {
        let browser = try BrowserReturn(port: port ?? 0)
        let departure = try await signIn.leaveForProvider(port: browser.port, container: container)
        Output.remark("Sign in with your browser, on this machine:\n\n  \(departure.url)\n")
        // xdg-open may return only when the browser ends.
        let opening = Task { await BrowserReturn.open(departure.url) }
        defer { opening.cancel() }
        let values = try await browser.values(state: departure.state)
        if let error = values["error"] {
            throw CommandFailure("The provider did not sign you in (\(error.prefix(100))).".onOneLine)
        }
        guard let code = values["code"] else { throw CommandFailure("The provider gave no answer. Begin again.") }
        return try await signIn.arrive(state: departure.state, code: code, from: departure, container: container)
    }
}
