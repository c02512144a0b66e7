import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema
import CloudKitServer
import Foundation
import Testing

@Suite(.timeLimit(.minutes(20))) struct NotificationTests {
    @Test(arguments: Engine.allCases)
    func `B-SUB-02 B-PSH-01 all devices hear of a change but the one that made it`(engine: Engine) async throws {
        try await withCloud(engine) { cloud in
            try await cloud.makeZone()
            var phone = try await TestDevice(cloud, "phone")
            var laptop = try await TestDevice(cloud, "laptop")
            var stranger = try await TestDevice(cloud, "stranger", of: TestCloud.bob)
            try await cloud.subscribe(Subscription(id: "D", interest: .database(recordType: nil)))
            try await cloud.subscribe(Subscription(id: "Z", interest: .zone(ZoneID(zoneName: "Z"), recordType: nil)))
            try await cloud.modify([create("R1"), create("R2")], by: phone.caller)
            #expect(try await phone.received() == [])
            #expect(try await laptop.received() == ["D", "Z Z"])
            #expect(try await laptop.received() == [])
            #expect(try await stranger.received() == [])
            // The default zone has no feed (B-CHG-04).
            try await cloud.modify([create("R1")], zone: "_defaultZone", by: phone.caller)
            #expect(try await laptop.received() == [])
            // A failed batch is not a change.
            try await cloud.modify([create("R1")], by: phone.caller)
            #expect(try await laptop.received() == [])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SUB-04 a query subscription hears of records as they become or were`(engine: Engine) async throws {
        try await withCloud(engine) { cloud in
            try await cloud.makeZone()
            try await cloud.modify([create("R0", "Note", number("n", 0))])
            var device = try await TestDevice(cloud, "laptop")
            let isLarge = QueryFilter(key: .field("n"), comparator: .greaterThan, value: .int64(5))
            try await cloud.subscribe(TestCloud.query("L", "Note", isLarge))
            try await cloud.subscribe(TestCloud.query("C", firesOn: .created))
            try await cloud.subscribe(TestCloud.query("O", zone: "Other", firesOn: .created).movedToDefault)
            try await cloud.subscribe(TestCloud.query("S", info: nil))
            try await cloud.modify([create("R1", "Note", number("n", 9)), create("R2", "Note", number("n", 1))])
            #expect(try await device.received() == ["C +R1", "C +R2", "L +R1"])
            try await cloud.modify([save(.forceUpdate, "R2", number("n", 7)), save(.forceUpdate, "R1", number("n", 2))])
            #expect(try await device.received() == ["L ~R2"])
            try await cloud.modify([delete("R1"), delete("R2")])
            #expect(try await device.received() == ["L -R2"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SUB-07 changes before a subscription was saved push nothing, later ones do`(
        engine: Engine
    ) async throws {
        try await withCloud(engine) { cloud in
            try await cloud.makeZone()
            var device = try await TestDevice(cloud, "laptop")
            try await cloud.modify([create("R1")])
            try await cloud.subscribe(TestCloud.query("Q"))
            try await cloud.subscribe(Subscription(id: "Z", interest: .zone(ZoneID(zoneName: "Z"), recordType: nil)))
            #expect(try await device.received() == [])
            try await cloud.modify([create("R2")])
            #expect(try await device.received() == ["Q +R2", "Z Z"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SUB-08 a query subscription without notification info pushes nothing, others do`(
        engine: Engine
    ) async throws {
        try await withCloud(engine) { cloud in
            try await cloud.makeZone()
            try await cloud.modify([create("R0")])
            var device = try await TestDevice(cloud, "laptop")
            try await cloud.subscribe(TestCloud.query("Q", info: nil))
            try await cloud.subscribe(Subscription(id: "D", interest: .database(recordType: nil)))
            try await cloud.modify([create("R1")])
            #expect(try await device.received() == ["D"])
            #expect(cloud.cloud.notificationMetrics.counts.dropped[.noNotificationInfo] == 1)
        }
    }

    @Test func `B-PSH-10 a record type narrows zone and database subscriptions`() async throws {
        try await withCloud { cloud in
            try await cloud.makeZone()
            var device = try await TestDevice(cloud, "laptop")
            try await cloud.subscribe(Subscription(id: "D", interest: .database(recordType: "Task")))
            try await cloud.subscribe(Subscription(id: "Z", interest: .zone(ZoneID(zoneName: "Z"), recordType: "Task")))
            try await cloud.modify([create("R1"), create("R2")])
            #expect(try await device.received() == [])
            try await cloud.modify([create("R3"), create("R4", "Task"), create("R5", "Task")])
            #expect(try await device.received() == ["D", "Z Z"])
            try await cloud.makeZone("Y")
            #expect(try await device.received() == [])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SUB-03 a subscription that fires once is deleted with its first push`(engine: Engine) async throws {
        try await withCloud(engine) { cloud in
            try await cloud.makeZone()
            try await cloud.modify([create("R0")])
            var device = try await TestDevice(cloud, "laptop")
            try await cloud.subscribe(TestCloud.query("O", once: true))
            try await cloud.modify([create("R1"), create("R2")])
            #expect(try await device.received() == ["O +R1"])
            try await cloud.modify([create("R3")])
            #expect(try await device.received() == [])
            let held = try await ListSubscriptions(cloud.cloud).run(
                in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
            #expect(held == [])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-ZN-08 B-CHG-03 created and deleted zones are reported`(engine: Engine) async throws {
        try await withCloud(engine) { cloud in
            try await cloud.makeZone()
            var device = try await TestDevice(cloud, "laptop")
            try await cloud.subscribe(Subscription(id: "D", interest: .database(recordType: nil)))
            try await cloud.subscribe(Subscription(id: "Z", interest: .zone(ZoneID(zoneName: "Z"), recordType: nil)))
            try await cloud.makeZone("Y")
            #expect(try await device.received() == ["D"])
            // Saving a zone that exists changes nothing (B-ZN-06).
            try await cloud.makeZone("Y")
            #expect(try await device.received() == [])
            _ = try await ModifyZones(cloud.cloud).run(
                [.delete(ZoneID(zoneName: "Z"))], in: TestCloud.address(.private), by: Caller(user: TestCloud.ada))
            #expect(try await device.received() == ["D", "Z Z"])
            try await EndZone(cloud.cloud).purge("Y", of: TestCloud.ada, in: TestCloud.container, .development)
            #expect(try await device.received() == ["D"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-PSH-02 a device that was away gets the newest of each`(engine: Engine) async throws {
        try await withCloud(engine) { cloud in
            try await cloud.makeZone()
            try await cloud.modify([create("R0")])
            var device = try await TestDevice(cloud, "laptop")
            try await cloud.subscribe(Subscription(id: "D", interest: .database(recordType: nil)))
            try await cloud.subscribe(TestCloud.query("Q"))
            try await cloud.modify([create("R1")])
            try await cloud.modify([create("R2")])
            try await cloud.modify([save(.forceUpdate, "R1", number("n", 1))])
            #expect(try await device.received() == ["Q +R2", "D", "Q ~R1"])
        }
    }

    @Test func `B-PSH-08 a push service gets the collapse identifier, category, mutable content, title and subtitle`()
        async throws
    {
        try await withCloud { cloud in
            try await cloud.makeZone()
            try await cloud.modify([create("R0")])
            var info = NotificationInfo()
            info.alertBody = "body"
            info.title = "title"
            info.subtitle = "subtitle"
            info.category = "category"
            info.shouldSendMutableContent = true
            info.collapseIDKey = "c"
            try await cloud.subscribe(TestCloud.query("Q", info: info))
            try await cloud.subscribe(TestCloud.shown("other"))
            let service = TestPushService()
            try await cloud.pushTo("a")
            try await cloud.modify([create("R1")])
            try await PushDeliveryService(cloud: cloud.cloud, services: [service]).deliverOnce(
                in: .privateDatabase(TestCloud.container, .development, of: TestCloud.ada))
            let sent = service.takenMessages()
            #expect(Set(sent.map(\.mark)) == ["Q +R1", "other +R1"])
            let message = try #require(sent.first { $0.mark == "Q +R1" }).message
            #expect(message.collapseKey == "collapse/c")
            #expect(!sent.allSatisfy { $0.message.collapseKey == message.collapseKey })
            let root = try #require(
                try JSONSerialization.jsonObject(with: Data(message.payload)) as? [String: Any])
            let aps = try #require(root["aps"] as? [String: Any])
            let alert = try #require(aps["alert"] as? [String: Any])
            #expect(alert["title"] as? String == "title" && alert["subtitle"] as? String == "subtitle")
            #expect(aps["category"] as? String == "category" && aps["mutable-content"] as? Int == 1)
        }
    }

    @Test func `B-PSH-02 notifications with one collapse identifier replace one another while they wait`() async throws
    {
        try await withCloud { cloud in
            try await cloud.makeZone()
            try await cloud.modify([create("R0")])
            var device = try await TestDevice(cloud, "laptop")
            var info = NotificationInfo()
            info.collapseIDKey = "c"
            try await cloud.subscribe(TestCloud.query("Q", info: info))
            try await cloud.modify([create("R1"), create("R2")])
            #expect(try await device.received() == ["Q +R2"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-DB-06 public subscribers are notified of records that they may read`(engine: Engine) async throws {
        try await withCloud(engine) { cloud in
            try await cloud.modify([create("R0")], zone: "_defaultZone", in: .public)
            var ada = try await TestDevice(cloud, "ada", of: TestCloud.ada)
            var bob = try await TestDevice(cloud, "bob", of: TestCloud.bob)
            try await cloud.subscribe(TestCloud.query("A"), in: .public)
            try await cloud.subscribe(TestCloud.query("B", firesOn: .deleted), in: .public, by: TestCloud.bob)
            try await cloud.modify([create("R1")], zone: "_defaultZone", in: .public, by: bob.caller)
            try await cloud.modify([delete("R1")], zone: "_defaultZone", in: .public, by: bob.caller)
            #expect(try await ada.received() == [])
            while try await RunOutbox(cloud.cloud).run() {}
            #expect(try await ada.received() == ["A -R1"])
            // His own device made the change.
            #expect(try await bob.received() == [])
            try await cloud.modify([create("R2")], zone: "_defaultZone", in: .public, by: ada.caller)
            try await cloud.modify([delete("R2")], zone: "_defaultZone", in: .public, by: ada.caller)
            while try await RunOutbox(cloud.cloud).run() {}
            #expect(try await bob.received() == ["B -R2"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-DB-06 public subscribers are not notified of records that only their creator may read`(engine: Engine)
        async throws
    {
        try await withCloud(engine) { cloud in
            try await cloud.modify([create("R0")], zone: "_defaultZone", in: .public)
            try await SetGrants(cloud.cloud).run(
                [Grant(.create, to: Grant.signedIn), Grant(.read, to: Grant.creator)], ofType: "Note",
                in: TestCloud.container, .development)
            var ada = try await TestDevice(cloud, "ada", of: TestCloud.ada)
            var bob = try await TestDevice(cloud, "bob", of: TestCloud.bob)
            try await cloud.subscribe(TestCloud.query("A"), in: .public)
            try await cloud.subscribe(TestCloud.query("B"), in: .public, by: TestCloud.bob)
            try await cloud.modify([create("R1")], zone: "_defaultZone", in: .public)
            while try await RunOutbox(cloud.cloud).run() {}
            #expect(try await bob.received() == [])
            #expect(try await ada.received() == ["A +R1"])
            #expect(cloud.cloud.notificationMetrics.counts.dropped[.accessDenied] == 1)
        }
    }

    @Test func `cascades are reported like deletions`() async throws {
        try await withCloud { cloud in
            try await cloud.makeZone()
            try await cloud.modify([create("P"), create("C", "Note", reference("p", to: "P", .deleteSelf))])
            var device = try await TestDevice(cloud, "laptop")
            try await cloud.subscribe(TestCloud.query("Q", firesOn: .deleted))
            try await cloud.modify([delete("P")])
            #expect(try await device.received() == ["Q -P", "Q -C"])
        }
    }

    @Test func `matched, dropped and sent notifications are counted and reported`() async throws {
        try await withCloud { cloud in
            try await cloud.makeZone()
            try await cloud.modify([create("R0")])
            try await cloud.subscribe(Subscription(id: "D", interest: .database(recordType: nil)))
            try await cloud.subscribe(TestCloud.query("S", info: nil))
            try await cloud.modify([create("R1")])
            #expect(cloud.cloud.notificationMetrics.counts.decided == 1)
            #expect(cloud.cloud.notificationMetrics.counts.dropped == [.noOtherDevice: 1, .noNotificationInfo: 1])
            var device = try await TestDevice(cloud, "laptop")
            try await cloud.modify([create("R2")])
            #expect(try await device.received() == ["D"])
            #expect(cloud.cloud.notificationMetrics.counts.sent == 1)
        }
    }
}

extension Subscription {
    /// The same about the default zone.
    fileprivate var movedToDefault: Subscription {
        guard case .query(var query) = interest else { return self }
        query.zoneID = .default
        var result = self
        result.interest = .query(query)
        return result
    }
}
