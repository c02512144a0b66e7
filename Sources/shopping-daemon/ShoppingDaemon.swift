import CloudKit

/// Follows shopping lists with `CKSyncEngine`, and prints what changes: a program that runs all day, without a person.
@main
struct ShoppingDaemon {
    static let usage = """
        usage: shopping-daemon [--for SECONDS]

        Prints each item that is added, ticked off or removed, in the user's own list and in those that others share with them. Uses
        the cloud and profile of the CLOUDKIT_ variables, or of cloudkit.json. Runs until it is ended, or for some seconds.

        Exit status: 0 success; 2 wrong usage.
        """

    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        if words.contains("--help") || words.contains("-h") { return print(usage) }
        var seconds: Int?
        if words.count == 2, words[0] == "--for" { seconds = Int(words[1]) }
        guard words.isEmpty || seconds != nil else {
            FileHandle.standardError.write(Data("shopping-daemon: See shopping-daemon --help.\n".utf8))
            exit(2)
        }
        let container = CKContainer.default()
        let followers = [container.privateCloudDatabase, container.sharedCloudDatabase].map { ListFollower($0) }
        for follower in followers { await follower.start() }
        say("the daemon follows the lists")
        // Years, unless the program is ended.
        try? await Task.sleep(for: .seconds(seconds ?? 1_000_000_000))
        withExtendedLifetime(followers) {}
    }
}

/// Prints a line at once, also where another program reads it.
private func say(_ text: String) {
    FileHandle.standardOutput.write(Data("   \(text)\n".utf8))
}

/// Follows one database.
actor ListFollower: CKSyncEngineDelegate {
    private let database: CKDatabase
    private var engine: CKSyncEngine?
    private var titles: [CKRecord.ID: String] = [:]

    init(_ database: CKDatabase) { self.database = database }

    func start() async {
        let engine = CKSyncEngine(
            CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: self))
        self.engine = engine
        do {
            try await engine.fetchChanges()
        } catch {
            say("the daemon waits for the cloud: \(error.localizedDescription)")
        }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) {
        guard case .fetchedRecordZoneChanges(let changes) = event else { return }
        for change in changes.modifications { note(change.record) }
        for deletion in changes.deletions {
            if let title = titles.removeValue(forKey: deletion.recordID) { say("\(title) was removed") }
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }

    private func note(_ record: CKRecord) {
        guard record.recordType == "Item", let title = record.encryptedValues["title"] as? String else { return }
        let isNew = titles.updateValue(title, forKey: record.recordID) == nil
        let isDone = record["done"] as? Int == 1
        if isDone {
            say("\(title) was ticked off")
        } else if isNew {
            say("\(title) was added")
        }
    }
}
