import CloudKit

/// An app whose process ends in the middle of a long-lived save and resumes it in the next process. A test starts it.
///
/// - `save persisted|answered NAME`: saves a record of this name; the process is killed (SIGKILL) once the operation is persisted,
///   or once it has its answer and before it is reported as finished.
/// - `resume`: resumes all persisted operations and waits for their end.
///
/// Prints a line per event.
@main
struct LongLivedApp {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        switch arguments.first {
        case "save": await save(named: arguments.last ?? "", dyingWhen: arguments.dropFirst().first ?? "")
        case "resume": try await resume()
        default: exit(2)
        }
    }

    private static func save(named name: String, dyingWhen moment: String) async {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
        record["text"] = "from the first life"
        record.encryptedValues["secret"] = "sealed in the first life"
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        let configuration = CKOperation.Configuration()
        configuration.isLongLived = true
        operation.configuration = configuration
        operation.longLivedOperationWasPersistedBlock = { [id = operation.operationID] in
            say("persisted \(id)")
            if moment == "persisted" { kill(getpid(), SIGKILL) }
        }
        operation.perRecordSaveBlock = { id, _ in
            say("answered \(id.recordName)")
            if moment == "answered" { kill(getpid(), SIGKILL) }
        }
        await run(operation)
    }

    private static func resume() async throws {
        let container = CKContainer.default()
        let ids = try await container.allLongLivedOperationIDs()
        say("found \(ids.joined(separator: " "))")
        for id in ids {
            guard let operation = try await container.longLivedOperation(for: id) as? CKModifyRecordsOperation else {
                say("lost \(id)")
                continue
            }
            operation.perRecordSaveBlock = { id, result in
                switch result {
                case .success(let record): say("saved \(id.recordName) \(record.recordChangeTag ?? "without tag")")
                case .failure(let error): say("failed \(id.recordName) \((error as? CKError)?.code.rawValue ?? 0)")
                }
            }
            await run(operation)
        }
        say("left \(try await container.allLongLivedOperationIDs().joined(separator: " "))")
    }

    private static func run(_ operation: CKModifyRecordsOperation) async {
        await withCheckedContinuation { continuation in
            operation.modifyRecordsResultBlock = { result in
                if case .failure(let error) = result { say("ended \((error as? CKError)?.code.rawValue ?? 0)") }
            }
            // Called when the operation is finished and therefore removed.
            operation.completionBlock = { continuation.resume() }
            CKContainer.default().privateCloudDatabase.add(operation)
        }
    }

    @Sendable private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
