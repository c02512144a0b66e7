import CloudKit

/// A demonstration of apps that use CloudKit: an address book on two devices of one user, and sharing between users.
@main
struct ContactsDemo {
    static func main() async {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            let isSharing = arguments.first == "sharing"
            if arguments.contains("--help") || arguments.contains("-h") {
                print(isSharing ? SharingOptions.usage : DemoOptions.usage)
            } else if isSharing {
                var scenario = SharingScenario(try SharingOptions(arguments.dropFirst()))
                try await scenario.run()
            } else {
                var scenario = AddressBookScenario(try DemoOptions(arguments))
                try await scenario.run()
            }
        } catch {
            let failure = DemoFailure(error)
            let usage = failure.status == .usage ? " See contacts-demo --help." : ""
            FileHandle.standardError.write(Data("\ncontacts-demo: \(failure.message)\(usage)\n".utf8))
            exit(failure.status.rawValue)
        }
    }
}
