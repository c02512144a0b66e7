import CloudKit

/// The command-line options of the sharing scenario.
struct SharingOptions: Sendable {
    var welkin = ""
    var container = "iCloud.org.welkin.contacts"
    var ben = ""
    var cleo = ""
    var isVerbose = false

    static let usage = """
        usage: contacts-demo sharing --welkin PROGRAM --ben EMAIL --cleo EMAIL [--container ID] [--verbose]

        Three people share with one another, against the cloud that CLOUDKIT_ENDPOINT (or cloudkit.json) names. The profiles
        ada-laptop, ada-phone, ben-laptop and ben-phone must be signed in. Cleo has no account at first: the story makes one,
        with PROGRAM sign-up and the API token in CLOUDKIT_API_TOKEN.

          --welkin PROGRAM   the program that signs people up and opens links
          --ben EMAIL        Ben's e-mail address
          --cleo EMAIL       an e-mail address without an account
          --container ID     the app's container (iCloud.org.welkin.contacts)
          --verbose          show details of each step
        """

    /// Parses the arguments.
    ///
    /// - Throws: `DemoFailure.usage` for unknown arguments.
    init(_ arguments: ArraySlice<String>) throws(DemoFailure) {
        var rest = arguments
        while let option = rest.popFirst() {
            switch option {
            case "--welkin": welkin = try DemoOptions.value(of: option, &rest)
            case "--ben": ben = try DemoOptions.value(of: option, &rest)
            case "--cleo": cleo = try DemoOptions.value(of: option, &rest)
            case "--container": container = try DemoOptions.value(of: option, &rest)
            case "--verbose", "-v": isVerbose = true
            default: throw DemoFailure(.usage, "Unknown option \(option).")
            }
        }
        guard !welkin.isEmpty, !ben.isEmpty, !cleo.isEmpty else {
            throw DemoFailure(.usage, "The scenario needs --welkin PROGRAM, --ben EMAIL and --cleo EMAIL.")
        }
    }
}
