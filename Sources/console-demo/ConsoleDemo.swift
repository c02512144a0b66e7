import CloudKit

/// An app in the making: what it saves and asks for, while its operator looks after the schema.
///
/// Each run is one step of `script/demo console`, which does what the operator does between them.
@main
struct ConsoleDemo {
    static let usage = """
        usage: console-demo save|query [--container ID]

        save    saves a contact with an encrypted note into the private database
        query   asks for all contacts
        Both use the cloud, environment and profile of the CLOUDKIT_ variables, or of cloudkit.json, and print the error of a request
        that is refused. script/demo console prepares all of that.

        Exit status: 0 the cloud has answered; 1 failure; 2 wrong usage; 3 the request was refused.
        """

    static func main() async {
        var arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.contains("--help") || arguments.contains("-h") { return print(usage) }
        var container = "iCloud.org.welkin.addresses"
        if let option = arguments.firstIndex(of: "--container"), option + 1 < arguments.count {
            container = arguments[option + 1]
            arguments.removeSubrange(option...option + 1)
        }
        guard arguments.count == 1, let step = Step(rawValue: arguments[0]) else {
            fail("See console-demo --help.")
            exit(2)
        }
        do {
            try await step.run(in: CKContainer(identifier: container).privateCloudDatabase)
        } catch let error as CKError {
            print("   refused: CKError \(error.code.rawValue), \(error.localizedDescription)")
            exit(3)
        } catch {
            fail(error.localizedDescription)
            exit(1)
        }
    }

    private static func fail(_ text: String) {
        FileHandle.standardError.write(Data("console-demo: \(text)\n".utf8))
    }
}

/// A step of the app.
enum Step: String {
    case save, query

    func run(in database: CKDatabase) async throws {
        switch self {
        case .save:
            let contact = CKRecord(recordType: "Contact")
            contact["name"] = "Ada Lovelace"
            contact["city"] = "London"
            contact.encryptedValues["note"] = "prefers letters"
            let saved = try await database.save(contact)
            print("   saved \(saved.recordType) \(saved.recordID.recordName): name, city, note (encrypted)")
        case .query:
            let query = CKQuery(recordType: "Contact", predicate: NSPredicate(value: true))
            let (matches, _) = try await database.records(matching: query)
            for (_, result) in matches {
                let contact = try result.get()
                let name = contact["name"] as? String ?? ""
                let note = contact.encryptedValues["note"] as? String ?? ""
                print("   found \(name): \(note)")
            }
        }
    }
}
