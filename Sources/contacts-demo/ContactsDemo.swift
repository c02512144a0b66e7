import CloudKit

/// What apps do with CloudKit, told step by step: an address book on two devices of one user; people who share.
@main
struct ContactsDemo {
    static func main() async {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            let isSharing = arguments.first == "sharing"
            if arguments.contains("--help") || arguments.contains("-h") {
                print(isSharing ? SharingOptions.usage : DemoOptions.usage)
            } else if isSharing {
                var story = SharingStory(try SharingOptions(arguments.dropFirst()))
                try await story.run()
            } else {
                var scenario = Scenario(try DemoOptions(arguments))
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
