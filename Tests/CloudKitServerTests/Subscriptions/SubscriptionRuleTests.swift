import CloudKitModel
import CloudKitServer
import Testing

@Suite(.timeLimit(.minutes(20))) struct SubscriptionRuleTests {
    private static func code(
        _ subscription: Subscription, in scope: DatabaseScope, _ cloud: TestCloud
    ) async throws -> RequestFailure.Code? {
        let outcome = try await ModifySubscriptions(cloud.cloud).run(
            [.create(subscription)], in: TestCloud.address(scope), by: Caller(user: TestCloud.ada))[0]
        if case .failed(_, let failure) = outcome { return failure.code }
        return nil
    }

    @Test func `B-SUB-01 each database has its kinds of subscription`() async throws {
        try await withCloud { cloud in
            try await cloud.makeZone()
            try await cloud.modify([create("R")])
            try await cloud.modify([create("R")], zone: "_defaultZone", in: .public)
            let zone = Subscription(id: "Z", interest: .zone(ZoneID(zoneName: "Z"), recordType: nil))
            let database = Subscription(id: "D", interest: .database(recordType: nil))
            #expect(try await Self.code(TestCloud.query("Q"), in: .public, cloud) == nil)
            #expect(try await Self.code(TestCloud.query("Q"), in: .private, cloud) == nil)
            #expect(try await Self.code(TestCloud.query("Q"), in: .shared, cloud) == .badRequest)
            #expect(try await Self.code(zone, in: .public, cloud) == .badRequest)
            #expect(try await Self.code(zone, in: .private, cloud) == nil)
            #expect(try await Self.code(zone, in: .shared, cloud) == .badRequest)
            #expect(try await Self.code(database, in: .public, cloud) == .badRequest)
            #expect(try await Self.code(database, in: .private, cloud) == nil)
            #expect(try await Self.code(database, in: .shared, cloud) == nil)
            let defaultZone = Subscription(id: "Z", interest: .zone(.default, recordType: nil))
            #expect(try await Self.code(defaultZone, in: .private, cloud) == .badRequest)
            let missing = Subscription(id: "Z", interest: .zone(ZoneID(zoneName: "X"), recordType: nil))
            #expect(try await Self.code(missing, in: .private, cloud) == .zoneNotFound)
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-SUB-05 B-SUB-06 saving again replaces, a missing subscription is an item's error`(engine: Engine)
        async throws
    {
        try await withCloud(engine) { cloud in
            try await cloud.modify([create("R")], zone: "_defaultZone")
            try await cloud.subscribe(TestCloud.query("Q"))
            try await cloud.subscribe(TestCloud.query("Q", firesOn: .deleted))
            let place = TestCloud.address(.private)
            let ada = Caller(user: TestCloud.ada)
            let held = try await ListSubscriptions(cloud.cloud).run(in: place, by: ada)
            #expect(held == [TestCloud.query("Q", firesOn: .deleted)])
            let outcomes = try await ModifySubscriptions(cloud.cloud).run(
                [.delete(id: "Q"), .delete(id: "Q"), .update(TestCloud.query("Q")), .create(TestCloud.query(""))],
                in: place, by: ada)
            #expect(outcomes[0] == .deleted(id: "Q"))
            guard case .failed("Q", let second) = outcomes[1], case .failed("Q", let third) = outcomes[2],
                case .subscription(let named) = outcomes[3]
            else {
                Issue.record("\(outcomes)")
                return
            }
            #expect(second.code == .itemNotFound && third.code == .itemNotFound && named.id.count == 36)
            let found = try await LookupSubscriptions(cloud.cloud).run([named.id, "Q"], in: place, by: ada)
            #expect(found.first == .subscription(named))
            #expect(try await ListSubscriptions(cloud.cloud).run(in: place, by: Caller(user: TestCloud.bob)) == [])
            await expect(.authenticationRequired) {
                _ = try await ListSubscriptions(cloud.cloud).run(in: TestCloud.address(.public), by: .anonymous)
            }
        }
    }

    @Test func `B-SUB-03 a condition that queries refuse is refused`() async throws {
        try await withCloud { cloud in
            try await cloud.modify([create("R", "Note", text("t", "x"))], zone: "_defaultZone")
            let never = TestCloud.query("Q", firesOn: [])
            #expect(try await Self.code(never, in: .private, cloud) == .badRequest)
            #expect(try await Self.code(TestCloud.query("Q", "Unknown"), in: .private, cloud) == .typeNotFound)
            #expect(try await Self.code(TestCloud.query("Q", "Users"), in: .private, cloud) == .badRequest)
            let unknown = QueryFilter(key: .field("u"), comparator: .equals, value: .string("x"))
            #expect(try await Self.code(TestCloud.query("Q", "Note", unknown), in: .private, cloud) == .indexMissing)
            let near = QueryFilter(key: .field("t"), comparator: .near, value: .string("x"))
            #expect(try await Self.code(TestCloud.query("Q", "Note", near), in: .private, cloud) == .badRequest)
        }
    }

    @Test func `a user has so many subscriptions`() async throws {
        var limits = Limits()
        limits.subscriptionsMax = 1
        try await withCloud(limits: limits) { cloud in
            let database = Subscription(id: "D", interest: .database(recordType: nil))
            try await cloud.subscribe(database)
            #expect(try await Self.code(database, in: .private, cloud) == nil)
            let more = Subscription(id: "E", interest: .database(recordType: nil))
            #expect(try await Self.code(more, in: .private, cloud) == .itemLimitExceeded)
            #expect(try await Self.code(more, in: .shared, cloud) == nil)
        }
    }
}
