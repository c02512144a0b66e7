import Foundation
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// A sync engine on the shared database: what owners change arrives without anybody asking.
@Suite(.timeLimit(.minutes(20))) struct SharedSyncTests {
    /// Keeps the titles of shared records, by record name.
    private actor Reader: CKSyncEngineDelegate {
        private(set) var titles: [String: String] = [:]
        private(set) var zones: Set<CKRecordZone.ID> = []
        private(set) var hasFetched = false
        private var waiting: (isDone: @Sendable (isolated Reader) -> Bool, CheckedContinuation<Void, Never>)?

        /// Waits until enough has happened.
        func wait(until isDone: @escaping @Sendable (isolated Reader) -> Bool) async {
            if isDone(self) { return }
            await withCheckedContinuation { waiting = (isDone, $0) }
        }

        func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
            switch event {
            case .fetchedDatabaseChanges(let event):
                for change in event.modifications { zones.insert(change.zoneID) }
                for deletion in event.deletions {
                    zones.remove(deletion.zoneID)
                    titles = [:]
                }
            case .fetchedRecordZoneChanges(let event):
                for change in event.modifications {
                    titles[change.record.recordID.recordName] = change.record["title"] as? String
                }
                for deletion in event.deletions { titles[deletion.recordID.recordName] = nil }
            case .didFetchChanges: hasFetched = true
            default: break
            }
            guard let waiting, waiting.isDone(self) else { return }
            self.waiting = nil
            waiting.1.resume()
        }

        func nextRecordZoneChangeBatch(
            _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
        ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
    }

    @Test func `B-SYN-10 an engine on the shared database follows its owner's changes automatically`() async throws {
        try await SharingHousehold.run { home in
            let (_, folder, notes) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            let device = try await home.device(of: "ben")
            let database = device.container.sharedCloudDatabase
            let reader = Reader()
            let engine = CKSyncEngine(.init(database: database, stateSerialization: nil, delegate: reader))
            await reader.wait { $0.hasFetched }
            while device.container.connection.notifications.registrations.load() == nil {
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["CKSyncEngine-shared"])
            // Accepted on his other device.
            try await home.accept(share.url, on: home.ben)
            await reader.wait { $0.titles["One"] == "One" }
            #expect(await reader.zones.count == 1)
            notes[0]["title"] = "Uno"
            _ = try await home.ada.privateCloudDatabase.modifyRecords(
                saving: [notes[0]], deleting: [], savePolicy: .allKeys)
            await reader.wait { $0.titles["One"] == "Uno" }
            let current = try asShare(try await home.ada.privateCloudDatabase.record(for: share.recordID))
            let ben = try #require(current.participants.first { $0.role == .privateUser })
            current.removeParticipant(ben)
            try await home.ada.privateCloudDatabase.save(current)
            await reader.wait { $0.zones.count == 0 }
            #expect(await reader.titles["One"] == nil)
            withExtendedLifetime(engine) {}
        }
    }
}
