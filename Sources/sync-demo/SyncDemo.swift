import CloudKit

/// Notes on two devices of one user, kept in step by `CKSyncEngine` while the cloud is restarted in between; told step by step.
@main
struct SyncDemo {
    static let usage = """
        usage: sync-demo [--profile-a NAME] [--profile-b NAME] [--container ID]

        Plays a notebook on two devices of one user against the cloud that CLOUDKIT_ENDPOINT (or cloudkit.json) names. Both
        profiles (device-a, device-b) must be signed in to the same account. script/demo sync does all of that.

        It asks on standard output for the cloud to be stopped (@stop) and started again (@start), and waits for an empty line
        on standard input when that is done.

        Exit status: 0 all as expected; 1 something was not; 2 wrong usage.
        """

    static func main() async {
        var profiles = ["--profile-a": "device-a", "--profile-b": "device-b"]
        var container = "iCloud.org.welkin.notes"
        var rest = CommandLine.arguments.dropFirst()
        while let option = rest.popFirst() {
            if option == "--help" || option == "-h" { return print(usage) }
            guard let value = rest.popFirst(), option == "--container" || profiles[option] != nil else {
                Narrator.complain("There is no option \(option), or it needs a value. See sync-demo --help.")
                exit(2)
            }
            if option == "--container" { container = value } else { profiles[option] = value }
        }
        do {
            try await Scenario(
                phone: Device("phone", profile: profiles["--profile-a"] ?? "", container: container),
                laptop: Device("laptop", profile: profiles["--profile-b"] ?? "", container: container)
            ).run()
        } catch {
            Narrator.complain((error as? Unexpected)?.description ?? error.localizedDescription)
            exit(1)
        }
    }
}
