import CloudKit

/// A demonstration of `CKSyncEngine`: notes on two devices of one user stay in sync while the cloud is restarted.
@main
struct SyncDemo {
    static let usage = """
        usage: sync-demo [--profile-a NAME] [--profile-b NAME] [--container ID]

        Runs a notebook app on two devices of one user against the cloud of CLOUDKIT_ENDPOINT (or cloudkit.json). Both
        profiles (device-a, device-b) must be signed in to the same account. script/demo sync prepares all of that.

        Asks on standard output for the cloud to be stopped (@stop) and started again (@start), and waits each time for an
        empty line on standard input.

        Exit status: 0 success; 1 failure; 2 wrong usage.
        """

    static func main() async {
        var profiles = ["--profile-a": "device-a", "--profile-b": "device-b"]
        var container = "iCloud.org.welkin.notes"
        var rest = CommandLine.arguments.dropFirst()
        while let option = rest.popFirst() {
            if option == "--help" || option == "-h" { return print(usage) }
            guard let value = rest.popFirst(), option == "--container" || profiles[option] != nil else {
                Narrator.fail("Unknown option \(option), or its value is missing. See sync-demo --help.")
                exit(2)
            }
            if option == "--container" { container = value } else { profiles[option] = value }
        }
        do {
            try await SyncScenario(
                phone: NotebookDevice("phone", profile: profiles["--profile-a"] ?? "", container: container),
                laptop: NotebookDevice("laptop", profile: profiles["--profile-b"] ?? "", container: container)
            ).run()
        } catch {
            Narrator.fail((error as? Unexpected)?.description ?? error.localizedDescription)
            exit(1)
        }
    }
}
