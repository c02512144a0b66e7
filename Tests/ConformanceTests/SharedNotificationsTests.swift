import Foundation
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Notifications of participants' devices about shared records.
@Suite(.timeLimit(.minutes(20))) struct SharedNotificationsTests {
    /// Waits until the device has a place at the courier: what happens before is not for it.
    private func registered(_ container: CKContainer) async throws {
        while container.connection.notifications.registrations.load() == nil {
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    @Test func `B-SUB-01 B-SHF-07 a shared database subscription reports changes, and removal`()
        async throws
    {
        try await SharingHousehold.run { home in
            let (_, folder, notes) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            let subscription = CKDatabaseSubscription(subscriptionID: "S")
            subscription.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
            try await home.ben.sharedCloudDatabase.save(subscription)
            var iterator = home.ben.remoteNotifications.makeAsyncIterator()
            try await registered(home.ben)
            notes[0]["title"] = "Uno"
            _ = try await home.ada.privateCloudDatabase.modifyRecords(
                saving: [notes[0]], deleting: [], savePolicy: .allKeys)
            let changed = try #require(await iterator.next()?.notification as? CKDatabaseNotification)
            #expect(changed.subscriptionID == "S" && changed.databaseScope == .shared)
            let current = try asShare(try await home.ada.privateCloudDatabase.record(for: share.recordID))
            let ben = try #require(current.participants.first { $0.role == .privateUser })
            current.removeParticipant(ben)
            try await home.ada.privateCloudDatabase.save(current)
            var zones: [CKRecordZone.ID] = []
            while zones != [try await home.shared(folder.recordID.zoneID)] {
                #expect(await iterator.next()?.notification?.subscriptionID == "S")
                zones = try await home.ben.sharedCloudDatabase.databaseChanges(since: nil).deletions.map(\.zoneID)
                if try await home.ben.sharedCloudDatabase.allRecordZones().isEmpty { break }
            }
            #expect(try await home.ben.sharedCloudDatabase.allRecordZones().isEmpty)
        }
    }

    @Test func `B-SUB-01 query and zone subscriptions are refused in the shared database`() async throws {
        try await SharingHousehold.run { home in
            let (_, folder, _) = try await home.makeFolder()
            let share = try await home.share(folder, with: ["ben"])
            try await home.accept(share.url, on: home.ben)
            let database = home.ben.sharedCloudDatabase
            let zone = try await home.shared(folder.recordID.zoneID)
            let refused: [CKSubscription] = [
                CKRecordZoneSubscription(zoneID: zone, subscriptionID: "Z"),
                CKQuerySubscription(
                    recordType: "Note", predicate: NSPredicate(value: true), subscriptionID: "Q",
                    options: .firesOnRecordCreation),
            ]
            for subscription in refused {
                let error = await #expect(throws: CKError.self) { _ = try await database.save(subscription) }
                #expect(error?.code == .invalidArguments)
            }
            #expect(try await database.allSubscriptions().isEmpty)
        }
    }
}
