import CloudKitModel
import Foundation
import Testing

@testable import CloudKit

@Suite(.timeLimit(.minutes(20))) struct CKNotificationTests {
    @Test func `descriptions contain names, but no texts for users`() throws {
        let notification = try #require(
            CKNotification(fromRemoteNotificationDictionary: [
                "aps": ["alert": "hidden"],
                "ck": [
                    "ce": 2, "cid": "iCloud.a", "nid": "n",
                    "qry": ["sid": "s", "rid": "r", "fo": 1, "af": ["a": "hidden"]],
                ],
            ]))
        let text = notification.description
        #expect(text.hasPrefix("<CKQueryNotification: 0x"))
        #expect(text.contains("containerIdentifier=iCloud.a, subscriptionID=s, queryNotificationReason=recordCreated"))
        #expect(text.contains("recordName=r") && !text.contains("hidden"))
        #expect(CKDatabaseSubscription(subscriptionID: "all").description.contains("subscriptionID=all"))
        #expect(CKContainer(identifier: "iCloud.a").sharedCloudDatabase.description.contains("databaseScope=shared"))
    }

    private static let zone = ["zid": "Z", "zoid": "_me", "sid": "S"]

    private static func dictionary(
        _ key: String, _ inside: [String: Any], aps: [String: Any] = [:], pruned: Int = 0
    ) -> [AnyHashable: Any] {
        [
            "aps": aps,
            "ck": ["ce": 2, "ckuserid": "_me", "nid": "N", "cid": "iCloud.a", "p": pruned, key: inside]
                as [String: Any],
        ]
    }

    @Test func `B-NTF-05 a notification of another service is not read`() {
        #expect(CKNotification(fromRemoteNotificationDictionary: ["aps": ["alert": "x"]]) == nil)
        #expect(CKNotification(fromRemoteNotificationDictionary: [:]) == nil)
    }

    @Test func `B-NTF-02 a query notification contains record, reason and fields`() throws {
        var inside: [String: Any] = Self.zone
        inside["rid"] = "R"
        inside["fo"] = 3
        inside["dbs"] = 2
        inside["af"] = [
            "title": "x", "n": 5, "d": ["value": 1000, "type": "TIMESTAMP"] as [String: Any],
            "r": ["value": ["recordName": "T"], "type": "REFERENCE"] as [String: Any],
        ]
        let aps: [String: Any] = [
            "alert": ["title": "T", "loc-key": "K", "loc-args": ["a"], "launch-image": "L"] as [String: Any],
            "badge": 1, "sound": "default", "category": "C",
        ]
        let made = CKNotification(fromRemoteNotificationDictionary: Self.dictionary("qry", inside, aps: aps))
        let notification = try #require(made as? CKQueryNotification)
        #expect(notification.notificationType == .query)
        #expect(notification.queryNotificationReason == .recordDeleted)
        #expect(notification.recordID == CKRecord.ID(recordName: "R", zoneID: CKRecordZone.ID(zoneName: "Z")))
        #expect(notification.databaseScope == .private)
        #expect(notification.subscriptionID == "S" && notification.containerIdentifier == "iCloud.a")
        #expect(notification.subscriptionOwnerUserRecordID?.recordName == "_me")
        #expect(notification.notificationID == CKNotificationID("N") && !notification.isPruned)
        let fields = try #require(notification.recordFields)
        #expect(fields["title"] as? String == "x" && fields["n"] as? Int == 5)
        #expect(fields["d"] as? Date == Date(timeIntervalSince1970: 1))
        #expect((fields["r"] as? CKRecord.Reference)?.recordID.recordName == "T")
        #expect(notification.title == "T" && notification.alertLocalizationKey == "K")
        #expect(notification.alertLocalizationArgs == ["a"] && notification.alertLaunchImage == "L")
        #expect(notification.badge == 1 && notification.soundName == "default" && notification.category == "C")
    }

    @Test func `B-NTF-03 B-NTF-04 zone and database notifications`() throws {
        let fet = CKNotification(fromRemoteNotificationDictionary: Self.dictionary("fet", Self.zone))
        let zone = try #require(fet as? CKRecordZoneNotification)
        #expect(zone.recordZoneID == CKRecordZone.ID(zoneName: "Z") && zone.notificationType == .recordZone)
        let met = CKNotification(
            fromRemoteNotificationDictionary: Self.dictionary("met", ["sid": "D", "dbs": 3] as [String: Any]))
        let database = try #require(met as? CKDatabaseNotification)
        #expect(database.databaseScope == .shared && database.subscriptionID == "D")
        #expect(database.notificationType == .database)
        #expect(CKQueryNotification(fromRemoteNotificationDictionary: Self.dictionary("fet", Self.zone)) == nil)
    }

    @Test func `B-NTF-05 B-NTF-06 a pruned notification is a query's without a record`() throws {
        let made = CKNotification(fromRemoteNotificationDictionary: Self.dictionary("x", [:], pruned: 1))
        let notification = try #require(made as? CKQueryNotification)
        #expect(notification.isPruned && notification.recordID == nil && notification.recordFields == nil)
    }

    @Test func `B-NTF-01 the notification that the server writes is the one that is read`() throws {
        var info = NotificationInfo()
        info.alertBody = "hello"
        let sent = PushNotification(
            id: "N", container: ContainerID("iCloud.a"), user: UserID("_me"), subscriptionID: "S", scope: .public,
            subject: .query(
                .init(
                    recordName: "R", event: .created, zoneID: ZoneID(zoneName: "_defaultZone"),
                    fields: [
                        try Field(name: "t", value: .string("x")), try Field(name: "n", value: .double(1.5)),
                        try Field(name: "p", value: .location(LocationValue(latitude: 1, longitude: 2))),
                    ])), presentation: info)
        let received = RemoteNotification(try .init(payload: sent.payload()))
        let notification = try #require(received.notification as? CKQueryNotification)
        #expect(notification.recordID == CKRecord.ID(recordName: "R"))
        #expect(notification.databaseScope == .public && notification.alertBody == "hello")
        #expect(notification.recordFields?["t"] as? String == "x")
        #expect((notification.recordFields?["p"] as? CLLocation)?.coordinate.latitude == 1)
        #expect(received.userInfo["aps"] as? [String: Any] != nil)
    }
}
