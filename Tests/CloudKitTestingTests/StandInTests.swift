import CloudKit
import CloudKitTesting
import Foundation
import Testing

private let notes = "iCloud.com.example.notes"
private let photos = "iCloud.com.example.photos"

/// Code that makes its containers itself and cannot be changed.
private enum AppCode {
    static func write(_ text: String) async throws {
        let record = CKRecord(recordType: "Note", recordID: .init(recordName: "n"))
        record["text"] = text
        try await CKContainer(identifier: notes).privateCloudDatabase.save(record)
    }

    static func read(from container: String = notes) async throws -> String? {
        let database = CKContainer(identifier: container).privateCloudDatabase
        return try await database.record(for: .init(recordName: "n"))["text"] as? String
    }

    /// Reads by an operation that names no database, and goes on in its block with another container.
    static func readByOperation() async throws -> (String?, CKRecord.ID) {
        try await withCheckedThrowingContinuation { continuation in
            let operation = CKFetchRecordsOperation(recordIDs: [.init(recordName: "n")])
            operation.perRecordResultBlock = { _, result in
                let text = Result { try result.get()["text"] as? String }
                CKContainer(identifier: photos).fetchUserRecordID { user, error in
                    continuation.resume(
                        with: Result {
                            if let error { throw error }
                            return (try text.get(), try #require(user))
                        })
                }
            }
            OperationQueue().addOperation(operation)
        }
    }
}

@Suite(.timeLimit(.minutes(20))) struct StandInTests {
    @Test func `containers by name belong to the device, several devices at a time`() async throws {
        try await TestCloud.run { cloud in
            let people = try await [cloud.user("ada"), cloud.user("bob"), cloud.user("cyd")]
            let texts = try await withThrowingTaskGroup(of: (Int, String?).self) { group in
                for (index, user) in people.enumerated() {
                    group.addTask {
                        try await user.device("phone").asDefault(photos) { _ in try await AppCode.write(user.name) }
                        return (
                            index, try await user.device("laptop").asDefault(photos) { _ in try await AppCode.read() }
                        )
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            #expect(texts == [0: "ada", 1: "bob", 2: "cyd"])
        }
    }

    @Test func `B-DB-15 operations and their blocks belong to the device of the task that made them`() async throws {
        try await TestCloud.run { cloud in
            let ada = try await cloud.user("ada")
            let (text, user) = try await ada.device().asDefault(notes) { _ in
                try await AppCode.write("hello")
                return try await AppCode.readByOperation()
            }
            #expect(text == "hello")
            #expect(try await user == ada.recordID(in: photos))
        }
    }

    @Test func `code on dispatch queues and in detached tasks gets the process's device, one at a time`() async throws {
        func detached() async throws -> CKRecord.ID {
            try await withCheckedThrowingContinuation { continuation in
                DispatchQueue.global().async {
                    Task.detached {
                        do {
                            continuation.resume(returning: try await CKContainer(identifier: photos).userRecordID())
                        } catch {
                            continuation.resume(throwing: error)
                        }
                    }
                }
            }
        }
        try await TestCloud.run { cloud in
            let ada = try await cloud.user("ada")
            let bob = try await cloud.user("bob")
            async let first = ada.device().asProcessDefault(notes) { _ in
                let before = try await detached()
                let nested = try await bob.device().asProcessDefault(notes) { _ in try await detached() }
                return (before, nested, try await detached())
            }
            async let second = bob.device().asProcessDefault(notes) { _ in try await detached() }
            let (adasID, bobsID) = (try await ada.recordID(in: photos), try await bob.recordID(in: photos))
            let asAda = try await first
            #expect(asAda == (adasID, bobsID, adasID))
            #expect(try await second == bobsID)
        }
    }
}
