import CloudKitModel
import CloudKitRecordLayer
import OrderedStore
import Testing

@Suite(.timeLimit(.minutes(20))) struct NotificationQueueTests {
    private static let partition = Partition("user")

    private static func draft(_ key: String, from device: String?) -> NotificationDraft {
        NotificationDraft(collapseKey: key, origin: device, payload: Array(key.utf8))
    }

    private static func enqueue(
        _ drafts: [NotificationDraft], in store: MemoryStore, now: Int64 = 1000,
        limits: NotificationQueueLimits = NotificationQueueLimits()
    ) async throws {
        try await store.write(partition) { transaction in
            var queue = NotificationEnqueuer(
                try await transaction.notificationQueueHeader(), limits: limits, now: now)
            try await queue.enqueue(drafts, &transaction)
        }
    }

    private static func page(
        for device: String?, after position: UInt64 = 0, in store: MemoryStore, oldest: Int64 = 0, limit: Int = 100
    ) async throws -> NotificationPage {
        try await store.read(partition) { view in
            try await view.notifications(
                for: device, after: position, header: try await view.notificationQueueHeader(), oldest: oldest,
                limit: limit)
        }
    }

    private static func keys(_ page: NotificationPage) -> [String] { page.notifications.map(\.collapseKey) }

    @Test func `B-PSH-01 a device does not hear of its own changes`() async throws {
        let store = MemoryStore()
        try await Self.enqueue([Self.draft("x", from: "a"), Self.draft("y", from: nil)], in: store)
        #expect(try await Self.keys(Self.page(for: "a", in: store)) == ["y"])
        #expect(try await Self.keys(Self.page(for: "b", in: store)) == ["x", "y"])
        #expect(try await Self.keys(Self.page(for: nil, in: store)) == ["x", "y"])
        #expect(try await Self.page(for: "a", in: store).position == 2)
        #expect(try await Self.keys(Self.page(for: "b", after: 2, in: store)) == [])
    }

    @Test
    func `B-PSH-02 only the last of several notifications waits, and no device that caused one misses the other's`()
        async throws
    {
        let store = MemoryStore()
        try await Self.enqueue([Self.draft("x", from: "a")], in: store)
        try await Self.enqueue([Self.draft("x", from: "b")], in: store)
        #expect(try await Self.page(for: "c", in: store).notifications.map(\.sequence) == [2])
        // b has not received the change of a; once it has, its own change is not reported to it.
        #expect(try await Self.keys(Self.page(for: "b", in: store)) == ["x"])
        #expect(try await Self.keys(Self.page(for: "b", after: 1, in: store)) == [])
        #expect(try await Self.keys(Self.page(for: "a", after: 1, in: store)) == ["x"])
    }

    @Test func `many devices in one notification are stored as a single marker`() async throws {
        let store = MemoryStore()
        for device in ["a", "b", "c", "d", "e", "f"] {
            try await Self.enqueue([Self.draft("x", from: device)], in: store)
        }
        let held = try await Self.page(for: "z", in: store).notifications
        #expect(held.count == 1 && held[0].origins.count == 4)
        #expect(try await Self.keys(Self.page(for: "a", in: store)) == ["x"])
        #expect(try await Self.keys(Self.page(for: "f", after: 5, in: store)) == [])
        #expect(try await Self.keys(Self.page(for: "f", after: 4, in: store)) == ["x"])
    }

    @Test func `a queue keeps a limited number for a limited time, and reports what it lost`() async throws {
        let store = MemoryStore()
        let limits = NotificationQueueLimits(countMax: 3, lifetime: 1000)
        try await Self.enqueue((1...5).map { Self.draft("\($0)", from: nil) }, in: store, limits: limits)
        var page = try await Self.page(for: "a", in: store)
        #expect(Self.keys(page) == ["3", "4", "5"] && page.hasLost)
        #expect(try await Self.page(for: "a", after: 2, in: store).hasLost == false)
        try await Self.enqueue([Self.draft("6", from: nil)], in: store, now: 2001, limits: limits)
        page = try await Self.page(for: "a", in: store)
        #expect(Self.keys(page) == ["6"])
        let header = try await store.read(Self.partition) { try await $0.notificationQueueHeader() }
        #expect(header.count == 1)
        #expect(try await Self.keys(Self.page(for: "a", in: store, oldest: 2002)) == [])
    }

    @Test func `a queue forgets everything that is too old, however much that is`() async throws {
        let store = MemoryStore()
        let limits = NotificationQueueLimits(countMax: 100, lifetime: 1000)
        try await Self.enqueue((1...40).map { Self.draft("\($0)", from: nil) }, in: store, limits: limits)
        try await Self.enqueue([Self.draft("new", from: nil)], in: store, now: 2001, limits: limits)
        #expect(try await Self.keys(Self.page(for: "a", in: store)) == ["new"])
        let header = try await store.read(Self.partition) { try await $0.notificationQueueHeader() }
        #expect(header.count == 1 && header.lost == 40)
    }

    @Test func `a queue is read in pages`() async throws {
        let store = MemoryStore()
        try await Self.enqueue((1...5).map { Self.draft("\($0)", from: "a") }, in: store)
        let page = try await Self.page(for: "a", in: store, limit: 2)
        #expect(page.notifications.isEmpty && page.moreComing && page.position == 2)
        let last = try await Self.page(for: "b", after: 4, in: store, limit: 2)
        #expect(Self.keys(last) == ["5"] && !last.moreComing)
    }
}
