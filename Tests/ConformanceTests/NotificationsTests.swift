import CloudKitModel
import CloudKitServer
import Foundation
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Subscriptions and what comes of them, from one device to another.
@Suite(.timeLimit(.minutes(20))) struct NotificationsTests {
    /// Notifications of one device, in short.
    private struct Inbox {
        var iterator: RemoteNotifications.Iterator

        init(_ container: CKContainer) { iterator = container.remoteNotifications.makeAsyncIterator() }

        mutating func next() async -> String {
            switch await iterator.next()?.notification {
            case let query as CKQueryNotification:
                let reason = ["", "+", "~", "-"][query.queryNotificationReason.rawValue]
                return "\(query.subscriptionID ?? "?") \(reason)\(query.recordID?.recordName ?? "?")"
            case let zone as CKRecordZoneNotification:
                return "\(zone.subscriptionID ?? "?") \(zone.recordZoneID?.zoneName ?? "?")"
            case let other: return other?.subscriptionID ?? "none"
            }
        }
    }

    /// Waits until the device has a place at the courier: what happens before is not for it.
    private func registered(_ container: CKContainer) async throws {
        while container.connection.notifications.registrations.load() == nil {
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    @Test func `B-SUB-02 B-PSH-01 a change reaches the user's other device and not its own`() async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try await cloud.device(of: user, named: "a")
            let b = try await cloud.device(of: user, named: "b")
            var onA = Inbox(a)
            var onB = Inbox(b)
            try await registered(a)
            try await registered(b)
            let zone = try await a.privateCloudDatabase.save(CKRecordZone(zoneName: "Z"))
            let database = CKDatabaseSubscription(subscriptionID: "D")
            database.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
            try await a.privateCloudDatabase.save(database)
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "R1", zoneID: zone.zoneID))
            try await a.privateCloudDatabase.save(record)
            #expect(await onB.next() == "D")
            // The other direction; a notification to A of its own change would arrive first.
            let query = CKQuerySubscription(
                recordType: "Note", predicate: NSPredicate(value: true), subscriptionID: "Q",
                options: .firesOnRecordUpdate)
            query.notificationInfo = CKSubscription.NotificationInfo()
            try await b.privateCloudDatabase.save(query)
            _ = try await b.privateCloudDatabase.deleteSubscription(withID: "D")
            let onOther = try await b.privateCloudDatabase.record(for: record.recordID)
            onOther["text"] = "x"
            try await b.privateCloudDatabase.save(onOther)
            #expect(await onA.next() == "Q ~R1")
            let all = try await a.privateCloudDatabase.allSubscriptions()
            #expect(all.map(\.subscriptionID) == ["Q"])
            #expect((all.first as? CKQuerySubscription)?.querySubscriptionOptions == .firesOnRecordUpdate)
        }
    }

    @Test func `B-SUB-03 another user hears of public records, once`() async throws {
        try await ThrowawayCloud.run { cloud in
            let ada = try await cloud.device(of: cloud.addUser("ada"))
            let bob = try await cloud.device(of: cloud.addUser("bob"))
            var onAda = Inbox(ada)
            try await registered(ada)
            let first = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "R0"))
            first["n"] = 0
            try await bob.publicCloudDatabase.save(first)
            let once = CKQuerySubscription(
                recordType: "Note", predicate: NSPredicate(format: "n > 5"), subscriptionID: "Once",
                options: [.firesOnRecordCreation, .firesOnce])
            once.notificationInfo = CKSubscription.NotificationInfo(alertBody: "new", desiredKeys: ["n"])
            try await ada.publicCloudDatabase.save(once)
            for (name, n) in [("R1", 1), ("R2", 7), ("R3", 9)] {
                let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
                record["n"] = n
                try await bob.publicCloudDatabase.save(record)
            }
            let notification = try #require(
                await onAda.iterator.next()?.notification as? CKQueryNotification)
            #expect(notification.recordID?.recordName == "R2" && notification.alertBody == "new")
            #expect(notification.recordFields?["n"] as? Int == 7)
            #expect(notification.databaseScope == .public)
            #expect(try await ada.publicCloudDatabase.allSubscriptions().isEmpty)
        }
    }

    @Test func `B-PSH-02 B-ZN-08 a device that was away gets the newest of each on return`() async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try await cloud.device(of: user, named: "a").privateCloudDatabase
            let b = try await cloud.device(of: user, named: "b")
            let zone = try await a.save(CKRecordZone(zoneName: "Z"))
            try await a.save(CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "Z"))
            try await a.save(CKDatabaseSubscription(subscriptionID: "D"))
            var before: Inbox? = Inbox(b)
            try await registered(b)
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "R1", zoneID: zone.zoneID))
            try await a.save(record)
            let first = [await before?.next(), await before?.next()]
            #expect(first == ["D", "Z Z"])
            before = nil
            record["text"] = "x"
            try await a.save(record)
            _ = try await a.deleteRecordZone(withID: zone.zoneID)
            var after = Inbox(b)
            var names: Set<String> = []
            while names.count < 2 { names.insert(await after.next()) }
            #expect(names == ["D", "Z Z"])
        }
    }
}
