import CloudKitModel
import CloudKitRecordLayer
import OrderedStore
import Testing

@Suite(.timeLimit(.minutes(20))) struct StoredSubscriptionTests {
    private static let partition = Partition("p")
    private static let user = UserID("_ada")

    private static func query(_ id: String, type: String = "Note") -> Subscription {
        var info = NotificationInfo()
        info.title = "t"
        info.collapseIDKey = "c"
        info.additionalFields = ["a"]
        info.alertLocalizationArgs = ["x", "y"]
        info.shouldBadge = true
        let filters = [
            QueryFilter(key: .field("n"), comparator: .in, value: .list(.int64, [.int64(1), .int64(2)])),
            QueryFilter(
                key: .system(.createdTimestamp), comparator: .lessThan, value: .timestamp(5)),
            QueryFilter(key: .anySearchable, comparator: .containsAllTokens, value: .string("a b")),
            QueryFilter(
                key: .field("place"), comparator: .near, value: .location(LocationValue(latitude: 1, longitude: 2)),
                distance: 5),
        ]
        return Subscription(
            id: id,
            interest: .query(
                SubscribedQuery(
                    query: Query(recordType: type, filters: filters), zoneID: ZoneID(zoneName: "Z", owner: user),
                    firesOn: [.created, .deleted], firesOnce: true)), notificationInfo: info)
    }

    @Test func `subscriptions come back as they were stored`() async throws {
        let store = MemoryStore()
        let held = [
            Self.query("1"), Subscription(id: "2", interest: .zone(ZoneID(zoneName: "Z"), recordType: nil)),
            Subscription(id: "3", interest: .database(recordType: "T"), notificationInfo: NotificationInfo()),
        ]
        try await store.write(Self.partition) { transaction in
            for subscription in held {
                try transaction.set(subscription, of: Self.user, in: .private, replacing: nil)
            }
        }
        let (all, some, others) = try await store.read(Self.partition) { view in
            (
                try await view.subscriptions(of: Self.user, in: .private),
                try await view.subscriptions(["3", "x"], of: Self.user, in: .private),
                try await view.subscriptions(of: Self.user, in: .shared)
            )
        }
        #expect(all == held && some == [held[2], nil] && others.isEmpty)
    }

    @Test func `those of the public database are found by record type, replaced and cleared`() async throws {
        let store = MemoryStore()
        func found(_ type: String) async throws -> [String] {
            try await store.read(Self.partition) {
                try await $0.subscriptions(toRecordsOfType: type).map { $0.user.recordName + $0.subscription.id }
            }
        }
        let old = Self.query("1")
        let new = Self.query("1", type: "Other")
        try await store.write(Self.partition) { transaction in
            try transaction.set(old, of: Self.user, in: .public, replacing: nil)
            try transaction.set(old, of: UserID("_bob"), in: .public, replacing: nil)
        }
        #expect(try await found("Note") == ["_ada1", "_bob1"])
        #expect(try await found("Not") == [])
        try await store.write(Self.partition) { try $0.set(new, of: Self.user, in: .public, replacing: old) }
        #expect(try await found("Note") == ["_bob1"])
        #expect(try await found("Other") == ["_ada1"])
        try await store.write(Self.partition) { $0.clear(new, of: Self.user, in: .public) }
        #expect(try await found("Other") == [])
    }
}
