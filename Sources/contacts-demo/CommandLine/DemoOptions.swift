import CloudKit

/// The command-line options.
struct DemoOptions: Sendable {
    var contacts: String?
    var profileA = "device-a"
    var profileB = "device-b"
    var container = "iCloud.org.welkin.contacts"
    /// The operator's program and the cloud's data folder, to show the stored records.
    var welkin: String?
    var data: String?
    var isVerbose = false

    static let usage = """
        usage: contacts-demo --contacts FILE [--profile-a NAME] [--profile-b NAME] [--container ID]
                             [--welkin PROGRAM --data DIR] [--verbose]

               contacts-demo sharing --welkin PROGRAM --ben EMAIL --cleo EMAIL; see contacts-demo sharing --help

        Plays an address book on two devices of one user against the cloud that CLOUDKIT_ENDPOINT (or cloudkit.json)
        names. Both profiles must be signed in to the same account: welkin login --email EMAIL --profile NAME

          --contacts FILE    the vCards to begin with
          --profile-a NAME   the first device (device-a)
          --profile-b NAME   the second device (device-b)
          --container ID     the app's container (iCloud.org.welkin.contacts)
          --welkin PROGRAM   with --data DIR: ask the operator's program what the cloud holds
          --verbose          show details of each step

        Exit status: 0 all as expected; 1 something was not; 2 wrong usage; 3 no cloud answers; 4 not signed in.
        """

    /// Parses the arguments.
    ///
    /// - Throws: `DemoFailure.usage` for unknown arguments.
    init(_ arguments: [String]) throws(DemoFailure) {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch option {
            case "--contacts": contacts = try Self.value(of: option, &rest)
            case "--profile-a": profileA = try Self.value(of: option, &rest)
            case "--profile-b": profileB = try Self.value(of: option, &rest)
            case "--container": container = try Self.value(of: option, &rest)
            case "--welkin": welkin = try Self.value(of: option, &rest)
            case "--data": data = try Self.value(of: option, &rest)
            case "--verbose", "-v": isVerbose = true
            default: throw DemoFailure(.usage, "Unknown option \(option).")
            }
        }
        guard contacts != nil else { throw DemoFailure(.usage, "--contacts FILE is required.") }
        guard profileA != profileB else {
            throw DemoFailure(.usage, "Two devices are required: --profile-a and --profile-b must differ.")
        }
    }

    static func value(of option: String, _ rest: inout ArraySlice<String>) throws(DemoFailure) -> String {
        guard let value = rest.popFirst(), !value.hasPrefix("--") else {
            throw DemoFailure(.usage, "\(option) needs a value.")
        }
        return value
    }
}
