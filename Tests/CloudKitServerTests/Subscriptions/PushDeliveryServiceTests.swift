import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20))) struct PushDeliveryServiceTests {
    private static let partition = StoragePartition.privateDatabase(
        TestCloud.container, .development, of: TestCloud.ada)

    /// A zone, and a subscription that shows something of every record.
    private static func ready(_ cloud: TestCloud) async throws {
        try await cloud.makeZone()
        try await cloud.modify([create("R0")])
        try await cloud.subscribe(TestCloud.shown("Q"))
    }

    @Test(arguments: Engine.allCases)
    func `waiting notifications are sent in order, once, and not to the device that made the change`(engine: Engine)
        async throws
    {
        try await withCloud(engine) { cloud in
            try await Self.ready(cloud)
            let service = TestPushService()
            let courier = PushDeliveryService(cloud: cloud.cloud, services: [service])
            let made = try await cloud.pushTo("a")
            #expect(made.longPollPath == nil)
            try await cloud.pushTo("b", device: "laptop")
            try await cloud.modify([create("R1"), create("R2")], by: Caller(user: TestCloud.ada, deviceID: "laptop"))
            let again = try await courier.deliverOnce(in: Self.partition)
            #expect(again == nil)
            #expect(service.taken() == ["a Q +R1", "a Q +R2"])
            try await courier.deliverOnce(in: Self.partition)
            #expect(service.taken() == [])
            // A crash right after the sending is another matter: see below.
            let after = PushDeliveryService(cloud: cloud.restarted(), services: [service])
            try await after.deliverOnce(in: Self.partition)
            #expect(service.taken() == [])
            #expect(cloud.cloud.notificationMetrics.counts.sent == 2)
        }
    }

    @Test func `a message carries its urgency, lifetime and the message it replaces`() async throws {
        try await withCloud { cloud in
            try await Self.ready(cloud)
            try await cloud.subscribe(Subscription(id: "D", interest: .database(recordType: nil)))
            let service = TestPushService()
            let courier = PushDeliveryService(cloud: cloud.cloud, services: [service])
            try await cloud.pushTo("a", silent: true)
            try await cloud.modify([create("R1")])
            cloud.time.advance(60_000)
            try await courier.deliverOnce(in: Self.partition)
            let sent = service.takenMessages().sorted { $0.mark < $1.mark }
            #expect(sent.map(\.mark) == ["D", "Q +R1"])
            #expect(sent.map(\.message.isVisible) == [false, true])
            #expect(sent.allSatisfy { $0.message.lifetime == 7 * 86_400 - 60 })
            #expect(Set(sent.map(\.message.collapseKey)).count == 2)
        }
    }

    @Test func `B-PSH-03 a silent notification is not sent to a browser, and counted`() async throws {
        try await withCloud { cloud in
            try await Self.ready(cloud)
            try await cloud.subscribe(Subscription(id: "D", interest: .database(recordType: nil)))
            let service = TestPushService()
            let courier = PushDeliveryService(cloud: cloud.cloud, services: [service])
            try await cloud.pushTo("a")
            try await cloud.modify([create("R1")])
            try await courier.deliverOnce(in: Self.partition)
            #expect(service.taken() == ["a Q +R1"])
            #expect(cloud.cloud.notificationMetrics.counts.dropped == [.silent: 1])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a service that is down gets everything later, in order, also after a restart`(engine: Engine) async throws {
        try await withCloud(engine) { cloud in
            try await Self.ready(cloud)
            let service = TestPushService()
            let courier = PushDeliveryService(cloud: cloud.cloud, services: [service])
            try await cloud.pushTo("a")
            try await cloud.modify([create("R1"), create("R2"), create("R3")])
            service.answer(.delivered, .tryAgain(after: nil, reason: "status503"))
            let again = try #require(try await courier.deliverOnce(in: Self.partition))
            #expect(service.taken() == ["a Q +R1", "a Q +R2"])
            #expect((1_600...2_400).contains(again - cloud.time.now))
            #expect(cloud.cloud.notificationMetrics.counts.postponed == ["test": 1])
            // Not before its time.
            try await courier.deliverOnce(in: Self.partition)
            #expect(service.taken() == [])
            cloud.time.advance(6_000)
            service.answer(.tryAgain(after: 600, reason: "status429"))
            let asked = try #require(try await courier.deliverOnce(in: Self.partition))
            #expect(asked == cloud.time.now + 600_000)
            let after = PushDeliveryService(cloud: cloud.restarted(), services: [service])
            _ = service.taken()
            try await after.deliverOnce(in: Self.partition)
            #expect(service.taken() == [])
            cloud.time.advance(600_000)
            #expect(try await after.deliverOnce(in: Self.partition) == nil)
            #expect(service.taken() == ["a Q +R2", "a Q +R3"])
        }
    }

    @Test func `a notification half sent at a crash is sent again`() async throws {
        try await withCloud { cloud in
            try await Self.ready(cloud)
            let service = TestPushService()
            try await cloud.pushTo("a")
            try await cloud.modify([create("R1"), create("R2")])
            let crashed = Task {
                service.decide { _ in
                    withUnsafeCurrentTask { $0?.cancel() }
                    return .delivered
                }
                try await PushDeliveryService(cloud: cloud.cloud, services: [service]).deliverOnce(in: Self.partition)
            }
            _ = await crashed.result
            _ = service.taken()
            service.decide { _ in .delivered }
            try await PushDeliveryService(cloud: cloud.restarted(), services: [service]).deliverOnce(in: Self.partition)
            // The second was not tried before; the first may come twice.
            #expect(service.taken().last == "a Q +R2")
        }
    }

    @Test func `a request that is broken off because the cloud stops is not a failure of the service`() async throws {
        try await withCloud { cloud in
            try await Self.ready(cloud)
            let service = TestPushService()
            try await cloud.pushTo("a")
            try await cloud.modify([create("R1"), create("R2")])
            let stopped = Task {
                service.decide { sent in
                    if sent.mark == "Q +R1" { return .delivered }
                    withUnsafeCurrentTask { $0?.cancel() }
                    return .tryAgain(after: nil, reason: "stopping")
                }
                try await PushDeliveryService(cloud: cloud.cloud, services: [service]).deliverOnce(in: Self.partition)
            }
            _ = await stopped.result
            _ = service.taken()
            service.decide { _ in .delivered }
            #expect(cloud.cloud.notificationMetrics.counts.postponed.isEmpty)
            try await PushDeliveryService(cloud: cloud.restarted(), services: [service]).deliverOnce(in: Self.partition)
            #expect(service.taken() == ["a Q +R2"])
        }
    }

    @Test func `postponed notifications are sent at once when the clock is set back`() async throws {
        try await withCloud { cloud in
            try await Self.ready(cloud)
            let service = TestPushService()
            let courier = PushDeliveryService(cloud: cloud.cloud, services: [service])
            try await cloud.pushTo("a")
            try await cloud.modify([create("R1")])
            service.answer(.tryAgain(after: nil, reason: "status503"))
            try await courier.deliverOnce(in: Self.partition)
            _ = service.taken()
            cloud.time.advance(-3_600_000)
            #expect(try await courier.deliverOnce(in: Self.partition) == nil)
            #expect(service.taken() == ["a Q +R1"])
        }
    }

    @Test func `a message that is refused permanently is dropped, and the next one is sent`() async throws {
        try await withCloud { cloud in
            try await Self.ready(cloud)
            let service = TestPushService()
            let courier = PushDeliveryService(cloud: cloud.cloud, services: [service])
            try await cloud.pushTo("a")
            try await cloud.modify([create("R1"), create("R2")])
            service.answer(.refused(reason: "status413"))
            try await courier.deliverOnce(in: Self.partition)
            #expect(service.taken() == ["a Q +R1", "a Q +R2"])
            #expect(cloud.cloud.notificationMetrics.counts.dropped == [.refused: 1])
            #expect(cloud.cloud.notificationMetrics.counts.sent == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an address that is gone is removed, and then nothing is queued for it`(engine: Engine) async throws {
        try await withCloud(engine) { cloud in
            try await Self.ready(cloud)
            let service = TestPushService()
            let courier = PushDeliveryService(cloud: cloud.cloud, services: [service])
            try await cloud.pushTo("a")
            try await cloud.modify([create("R1")])
            service.answer(.gone(reason: "status410"))
            try await courier.deliverOnce(in: Self.partition)
            #expect(service.taken() == ["a Q +R1"])
            #expect(cloud.cloud.notificationMetrics.counts.removed == ["test": 1])
            try await cloud.modify([create("R2")])
            try await courier.deliverOnce(in: Self.partition)
            #expect(service.taken() == [])
            #expect(cloud.cloud.notificationMetrics.counts.dropped == [.noOtherDevice: 1])
        }
    }

    @Test func `an address that nothing gets through to for three days is removed`() async throws {
        try await withCloud { cloud in
            try await Self.ready(cloud)
            let service = TestPushService()
            let courier = PushDeliveryService(cloud: cloud.cloud, services: [service])
            try await cloud.pushTo("a")
            try await cloud.modify([create("R1")])
            service.decide { _ in .tryAgain(after: nil, reason: "unreachable") }
            let start = cloud.time.now
            var tries = 0
            while let again = try await courier.deliverOnce(in: Self.partition) {
                tries += 1
                cloud.time.advance(max(again - cloud.time.now, 0))
            }
            let threeDays = 3 * 86_400_000
            #expect((threeDays...threeDays + 4_400_000).contains(Int(cloud.time.now - start)))
            #expect((60...120).contains(tries))
            #expect(cloud.cloud.notificationMetrics.counts.removed == ["test": 1])
        }
    }

    @Test func `an address ends with its session`() async throws {
        try await withCloud { cloud in
            try await Self.ready(cloud)
            let service = TestPushService()
            let current = Mutex(Set(["one", "two"]))
            let courier = PushDeliveryService(cloud: cloud.cloud, services: [service]) { id in
                current.withLock { $0.contains(id) }
            }
            try await cloud.pushTo("a", session: "one")
            try await cloud.pushTo("b", session: "two")
            current.withLock { _ = $0.remove("one") }
            try await cloud.modify([create("R1")])
            try await courier.deliverOnce(in: Self.partition)
            #expect(service.taken() == ["b Q +R1"])
            #expect(cloud.cloud.notificationMetrics.counts.removed == ["test": 1])
        }
    }

    @Test func `an address is registered once, moves with its token, and ends with it`() async throws {
        try await withCloud { cloud in
            try await Self.ready(cloud)
            let service = TestPushService()
            let courier = PushDeliveryService(cloud: cloud.cloud, services: [service])
            let caller = Caller(user: TestCloud.ada, deviceID: "phone")
            try await cloud.pushTo("a", client: "first")
            let made = try await cloud.pushTo("a", client: "second")
            try await cloud.modify([create("R1")])
            // Waiting notifications are not lost on the way from one address to the other.
            let moved = try await PushTokens(cloud.cloud).register(
                made.token, clientID: "second", service: "development", in: TestCloud.container, .development,
                by: caller,
                push: PushOrder(
                    service: "test", address: PushAddress(bytes: Array("b".utf8), identity: "b"), takesSilent: false))
            #expect(moved.token == made.token && moved.longPollPath == nil)
            try await courier.deliverOnce(in: Self.partition)
            #expect(service.taken() == ["b Q +R1"])
            // Confirmed without an address, it keeps the one it has.
            let kept = try await PushTokens(cloud.cloud).register(
                made.token, clientID: "second", service: "development", in: TestCloud.container, .development,
                by: caller)
            #expect(kept.longPollPath == nil)
            try await cloud.modify([create("R2")])
            try await courier.deliverOnce(in: Self.partition)
            #expect(service.taken() == ["b Q +R2"])
            try await PushTokens(cloud.cloud).remove(made.token, in: TestCloud.container, .development, by: caller)
            try await PushTokens(cloud.cloud).remove(made.token, in: TestCloud.container, .development, by: caller)
            try await cloud.modify([create("R3")])
            try await courier.deliverOnce(in: Self.partition)
            #expect(service.taken() == [])
            await expect(.authenticationRequired) {
                try await PushTokens(cloud.cloud).remove(
                    made.token, in: TestCloud.container, .development, by: .anonymous)
            }
        }
    }

    @Test func `notifications of a push service are not available from the courier's URL as well`() async throws {
        try await withCloud { cloud in
            try await Self.ready(cloud)
            let device = try await TestDevice(cloud, "laptop")
            let made = try await PushTokens(cloud.cloud).create(
                clientID: "laptop", service: "development", in: TestCloud.container, .development, by: device.caller)
            let polled = try #require(made.longPollPath)
            _ = try await PushTokens(cloud.cloud).register(
                made.token, clientID: "laptop", service: "development", in: TestCloud.container, .development,
                by: device.caller,
                push: PushOrder(
                    service: "test", address: PushAddress(bytes: [1], identity: "x"), takesSilent: false))
            await expect(.itemNotFound) { _ = try await device.courier.next(polled, confirmed: nil, max: 1) }
        }
    }

    @Test func `a user has so many addresses, the ones longest unseen go`() async throws {
        var limits = Limits()
        limits.pushAddressesMax = 2
        try await withCloud(limits: limits) { cloud in
            try await Self.ready(cloud)
            let service = TestPushService()
            let courier = PushDeliveryService(cloud: cloud.cloud, services: [service])
            for address in ["a", "b", "c"] {
                try await cloud.pushTo(address)
                cloud.time.advance(1)
            }
            var asking = try await TestDevice(cloud, "laptop")
            try await cloud.modify([create("R1")])
            try await courier.deliverOnce(in: Self.partition)
            #expect(service.taken().sorted() == ["b Q +R1", "c Q +R1"])
            #expect(try await asking.received() == ["Q +R1"])
            await expect(.badRequest) {
                _ = try await PushTokens(cloud.cloud).create(
                    clientID: "d", service: "development", in: TestCloud.container, .development,
                    by: Caller(user: TestCloud.ada),
                    push: PushOrder(
                        service: "test", address: PushAddress(bytes: [UInt8](repeating: 1, count: 5000), identity: "d"),
                        takesSilent: false))
            }
        }
    }

    @Test func `lost notifications are reported to subscribers of silent ones`() async throws {
        var limits = Limits()
        limits.notifications.countMax = 2
        try await withCloud(limits: limits) { cloud in
            try await Self.ready(cloud)
            let service = TestPushService()
            let courier = PushDeliveryService(cloud: cloud.cloud, services: [service])
            try await cloud.pushTo("app", silent: true)
            try await cloud.pushTo("browser")
            try await cloud.modify([create("R1"), create("R2"), create("R3")])
            try await courier.deliverOnce(in: Self.partition)
            let taken = service.taken()
            #expect(taken.filter { $0.hasPrefix("app") } == ["app lost", "app Q +R2", "app Q +R3"])
            #expect(taken.filter { $0.hasPrefix("browser") } == ["browser Q +R2", "browser Q +R3"])
        }
    }

    @Test func `addresses are sealed in the store, and unreadable ones are let go`() async throws {
        try await withCloud { cloud in
            try await Self.ready(cloud)
            let address = "https://push.example.net/a-secret-address"
            try await cloud.pushTo(address)
            let stored = try await cloud.store.read(Self.partition) { try await $0.pushTokens() }
            let destination = try #require(stored.first?.destination)
            #expect(!String(decoding: destination.address, as: UTF8.self).contains("secret"))
            var serverEnvironment = cloud.time.serverEnvironment
            serverEnvironment.secret = Array(repeating: 8, count: 32)
            let stranger = Cloud(store: cloud.store, files: cloud.files, serverEnvironment: serverEnvironment)
            let service = TestPushService()
            try await cloud.modify([create("R1")])
            try await PushDeliveryService(cloud: stranger, services: [service]).deliverOnce(in: Self.partition)
            #expect(service.taken() == [])
            let left = try await cloud.store.read(Self.partition) { try await $0.pushTokens() }
            #expect(left.isEmpty)
        }
    }

    @Test func `the running courier sends new and older notifications, and a slow service delays no save`()
        async throws
    {
        try await withCloud { cloud in
            try await Self.ready(cloud)
            try await cloud.pushTo("a")
            try await cloud.modify([create("R1")])
            // Another process, which knows of the address from the store alone.
            let service = TestPushService()
            let (reached, reach) = AsyncStream<Void>.makeStream()
            let (released, release) = AsyncStream<Void>.makeStream()
            service.decide { _ in
                reach.yield()
                for await _ in released { break }
                return .delivered
            }
            let restarted = cloud.restarted()
            let delivery = NotificationDelivery(
                cloud: restarted, transports: [PushDeliveryService(cloud: restarted, services: [service])])
            let running = Task { await delivery.run { Issue.record("\($0)") } }
            defer { running.cancel() }
            for await _ in reached { break }
            // The service hangs now; saves, and the transports of others, do not.
            try await cloud.modify([create("R2")])
            release.finish()
            var sent: [String] = []
            while sent.count < 2 {
                sent += service.taken()
                cloud.time.advance(2_000)
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(sent == ["a Q +R1", "a Q +R2"])
        }
    }
}
