import CloudKit

/// An address book on two devices of one user: what an app does with CloudKit, told step by step.
@main
struct ContactsDemo {
    static func main() async {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if arguments.contains("--help") || arguments.contains("-h") {
                print(DemoOptions.usage)
                return
            }
            let options = try DemoOptions(arguments)
            var scenario = Scenario(options)
            try await scenario.run()
        } catch {
            let failure = DemoFailure(error)
            let usage = failure.status == .usage ? " See contacts-demo --help." : ""
            FileHandle.standardError.write(Data("\ncontacts-demo: \(failure.message)\(usage)\n".utf8))
            exit(failure.status.rawValue)
        }
    }
}
