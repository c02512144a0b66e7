import CloudKitModel
import JSONBytes
import Testing

@Suite(.timeLimit(.minutes(20))) struct PushNotificationTests {
    private static let user = UserID("_ada")
    private static let zone = ZoneID(zoneName: "Z", owner: UserID("_ada"))

    private static func notification(_ info: NotificationInfo = NotificationInfo()) throws -> PushNotification {
        PushNotification(
            id: "N", container: ContainerID("iCloud.a"), user: user, subscriptionID: "S", scope: .private,
            subject: .query(
                .init(
                    recordName: "R", event: .updated, zoneID: zone,
                    fields: [
                        try Field(name: "title", value: .string("x")), try Field(name: "date", value: .timestamp(5)),
                    ])), presentation: info)
    }

    @Test func `B-NTF-01 B-NTF-02 B-NTF-04 a query notification names the event and the record`() throws {
        let text = String(decoding: try Self.notification().payload(), as: UTF8.self)
        #expect(
            text
                == #"{"aps":{"content-available":1},"ck":{"ce":2,"ckuserid":"_ada","aux":{},"nid":"N","cid":"iCloud.a","p":0,"#
                + #""qry":{"sid":"S","dbs":2,"rid":"R","fo":2,"zid":"Z","zoid":"_ada","#
                + #""af":{"title":"x","date":{"value":5,"type":"TIMESTAMP"}}}}}"#)
    }

    @Test func `B-NTF-03 zone and database notifications say where`() throws {
        var notification = try Self.notification()
        notification.subject = .zone(Self.zone)
        #expect(
            String(decoding: notification.payload(), as: UTF8.self)
                .hasSuffix(#""p":0,"fet":{"sid":"S","dbs":2,"zid":"Z","zoid":"_ada"}}}"#))
        notification.subject = .database
        notification.scope = .shared
        #expect(
            String(decoding: notification.payload(), as: UTF8.self).hasSuffix(#""p":0,"met":{"sid":"S","dbs":3}}}"#))
    }

    @Test func `B-PSH-05 a localization key wins over the text`() throws {
        var info = NotificationInfo()
        info.alertBody = "plain"
        #expect(
            try String(decoding: Self.notification(info).payload(), as: UTF8.self).hasPrefix(
                #"{"aps":{"alert":"plain"},"#))
        info.alertLocalizationKey = "KEY"
        info.alertLocalizationArgs = ["a", "b"]
        info.title = "T"
        info.soundName = "default"
        info.shouldBadge = true
        info.shouldSendMutableContent = true
        #expect(
            try String(decoding: Self.notification(info).payload(), as: UTF8.self).hasPrefix(
                #"{"aps":{"alert":{"title":"T","loc-key":"KEY","loc-args":["a","b"]},"badge":1,"sound":"default","mutable-content":1}"#
            ))
    }

    @Test func `B-PSH-03 an alert, a badge or a sound makes a push visible, without them it wakes the app silently`()
        throws
    {
        let changes: [(inout NotificationInfo) -> Void] = [
            { $0.alertBody = "hello" }, { $0.alertLocalizationKey = "KEY" }, { $0.shouldBadge = true },
            { $0.soundName = "default" },
        ]
        for change in changes {
            var info = NotificationInfo()
            change(&info)
            #expect(info.isVisible)
            let text = String(decoding: try Self.notification(info).payload(), as: UTF8.self)
            #expect(!text.contains("content-available"))
        }
        #expect(!NotificationInfo().isVisible)
        let silent = String(decoding: try Self.notification().payload(), as: UTF8.self)
        #expect(silent.hasPrefix(#"{"aps":{"content-available":1},"#))
    }

    @Test func `B-PSH-04 a push may show something and wake the app`() throws {
        var info = NotificationInfo()
        info.alertBody = "hello"
        info.shouldSendContentAvailable = true
        let text = String(decoding: try Self.notification(info).payload(), as: UTF8.self)
        #expect(text.contains(#""alert":"hello""#) && text.contains(#""content-available":1"#))
    }

    @Test func `B-PSH-07 a long payload gives up its fields first and says that it is pruned`() throws {
        var info = NotificationInfo()
        info.alertBody = String(repeating: "b", count: 100)
        let notification = try Self.notification(info)
        let whole = notification.payload().count
        var shorter = String(decoding: notification.payload(bytesMax: whole - 1), as: UTF8.self)
        #expect(!shorter.contains("\"af\"") && shorter.contains(#""p":1"#) && shorter.contains("cid"))
        shorter = String(decoding: notification.payload(bytesMax: whole - 60), as: UTF8.self)
        #expect(!shorter.contains("cid") && shorter.contains("bbbb"))
        shorter = String(decoding: notification.payload(bytesMax: 100), as: UTF8.self)
        #expect(!shorter.contains("bbbb") && !shorter.contains(#""rid":"#) && shorter.contains(#""sid":"S""#))
    }

    @Test func `B-PSH-06 texts are cut, and parts that do not fit are left out`() throws {
        let long = try Field(name: "t", value: .string(String(repeating: "é", count: 200)))
        #expect(try long.notificationValue?.value() == .string(String(repeating: "é", count: 100)))
        #expect(try Field(name: "b", value: .bytes([1])).notificationValue == nil)
        #expect(try Field(name: "l", value: .list(.string, [.string("a")])).notificationValue == nil)
        #expect(Field(name: "e", type: .string, sealed: [1]).notificationValue == nil)
        #expect(try Field(name: "n", value: .int64(3)).notificationValue != nil)
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00Z"), (1_700_000_000_000, "2023-11-14T22:13:20Z"), (-1, "1969-12-31T23:59:59Z"),
        (951_782_400_000, "2000-02-29T00:00:00Z"),
    ])
    func `B-PSH-05 dates are substituted`(milliseconds: Int64, text: String) throws {
        #expect(try Field(name: "d", value: .timestamp(milliseconds)).localizedArgument == text)
        #expect(
            try Field(name: "l", value: .location(LocationValue(latitude: 1, longitude: 2))).localizedArgument == nil)
    }

    @Test func `B-SUB-03 B-PSH-06 options and lengths of subscriptions`() throws {
        let query = SubscribedQuery(query: Query(recordType: "Note"), firesOn: [])
        #expect(throws: RequestFailure.self) {
            try Validity.subscription(Subscription(id: "S", interest: .query(query)))
        }
        var subscription = Subscription(id: "S", interest: .database(recordType: nil), notificationInfo: .init())
        try Validity.subscription(subscription)
        subscription.notificationInfo?.additionalFields = ["a", "b", "c", "d"]
        #expect(throws: RequestFailure.self) { try Validity.subscription(subscription) }
        subscription.notificationInfo?.additionalFields = []
        subscription.notificationInfo?.alertBody = String(repeating: "x", count: 4097)
        #expect(throws: RequestFailure.self) { try Validity.subscription(subscription) }
        #expect(throws: RequestFailure.self) {
            try Validity.subscription(Subscription(id: "", interest: .database(recordType: nil)))
        }
    }
}
