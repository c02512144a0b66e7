import CloudKitModel
import CloudKitRecordLayer
import CloudKitServer
import OrderedStore
import Testing

@Suite(.timeLimit(.minutes(20))) struct LongPollServiceTests {
    private static func ready(_ cloud: TestCloud) async throws {
        try await cloud.makeZone()
        try await cloud.subscribe(Subscription(id: "D", interest: .database(recordType: nil)))
    }

    @Test func `a waiting device is woken by the commit that concerns it`() async throws {
        try await withCloud { cloud in
            try await Self.ready(cloud)
            let courier = LongPollService(cloud: cloud.cloud, hold: .seconds(60))
            let delivery = NotificationDelivery(cloud: cloud.cloud, transports: [courier])
            let running = Task { await delivery.run { Issue.record("\($0)") } }
            defer { running.cancel() }
            let device = try await TestDevice(cloud, "laptop", courier: courier)
            let waiting = Task {
                var device = device
                return try await device.received()
            }
            while courier.waitingCount == 0 { try await Task.sleep(for: .milliseconds(1)) }
            try await cloud.modify([create("R1")], by: Caller(user: TestCloud.ada, deviceID: "other"))
            #expect(try await waiting.value == ["D"])
            #expect(courier.waitingCount == 0)
        }
    }

    @Test func `cancelling ends waiting, and so does another request of the same device`() async throws {
        try await withCloud { cloud in
            let courier = LongPollService(cloud: cloud.cloud, hold: .seconds(60))
            let device = try await TestDevice(cloud, "laptop", courier: courier)
            func wait() -> Task<[[UInt8]], any Error> {
                Task { try await courier.next(device.path, confirmed: nil, max: 1).payloads }
            }
            let first = wait()
            while courier.waitingCount == 0 { try await Task.sleep(for: .milliseconds(1)) }
            let second = wait()
            #expect(try await first.value == [])
            second.cancel()
            #expect(try await second.value == [])
            #expect(courier.waitingCount == 0)
        }
    }

    @Test func `waiting ends after its time, by the clock that only runs forward`() async throws {
        try await withCloud { cloud in
            let (rests, resting) = AsyncStream.makeStream(of: Duration.self)
            let (looks, look) = AsyncStream.makeStream(of: Void.self)
            cloud.time.sleep { pause in
                resting.yield(pause)
                for await _ in looks { return }
                throw CancellationError()
            }
            let courier = LongPollService(cloud: cloud.cloud, hold: .seconds(25))
            let device = try await TestDevice(cloud, "laptop", courier: courier)
            let running = Task { await courier.run() }
            defer { running.cancel() }
            var pauses = rests.makeAsyncIterator()
            #expect(await pauses.next() == .seconds(1))
            let waiting = Task { try await courier.next(device.path, confirmed: nil, max: 1).payloads }
            while courier.waitingCount == 0 { await Task.yield() }
            cloud.time.advance(24_999)
            look.yield()
            // Another pause: it has looked.
            #expect(await pauses.next() == .seconds(1))
            #expect(courier.waitingCount == 1)
            cloud.time.advance(1)
            look.yield()
            #expect(try await waiting.value == [])
            #expect(courier.waitingCount == 0)
        }
    }

    @Test func `a device that left spends no notification`() async throws {
        try await withCloud { cloud in
            try await Self.ready(cloud)
            let device = try await TestDevice(cloud, "laptop")
            try await cloud.modify([create("R1")])
            let lost = try await device.courier.next(device.path, confirmed: nil, max: 1) { false }
            #expect(lost.payloads == [])
            let first = try await device.courier.next(device.path, confirmed: nil, max: 1)
            #expect(first.payloads.count == 1)
            let second = try await device.courier.next(device.path, confirmed: nil, max: 1)
            #expect(second.payloads == [])
        }
    }

    @Test(arguments: Engine.allCases)
    func `B-PSH-02 an unconfirmed notification is delivered again after a restart`(engine: Engine) async throws {
        try await withCloud(engine) { cloud in
            try await Self.ready(cloud)
            var device = try await TestDevice(cloud, "laptop")
            try await cloud.modify([create("R1")])
            let answer = try await device.courier.next(device.path, confirmed: device.position, max: 10)
            #expect(answer.payloads.count == 1)
            let after = LongPollService(cloud: cloud.restarted(), hold: .zero)
            let again = try await after.next(device.path, confirmed: device.position, max: 10)
            #expect(again.payloads.map(TestDevice.mark) == ["D"])
            let confirmed = try await after.next(device.path, confirmed: again.position, max: 10)
            #expect(confirmed.payloads == [])
            #expect(try await device.received() == ["D"])
        }
    }

    @Test func `B-BKD-13 a device whose cloud was replaced by a copy gets everything that waits there`() async throws {
        try await withCloud { cloud in
            try await Self.ready(cloud)
            var device = try await TestDevice(cloud, "laptop")
            try await cloud.modify([create("R1")])
            #expect(try await device.received() == ["D"])
            #expect(try await device.received() == [])
            let before = device.position
            // As when an earlier copy of the store is put in its place: places in the queue may mean other notifications.
            try await cloud.store.renewEpoch(from: cloud.store.epoch)
            #expect(try await device.received() == ["D"])
            #expect(device.position != before)
            #expect(try await device.received() == [])
            for nonsense in ["", ".", "1", "x.y", "\(before).1"] {
                let delivery = try await device.courier.next(device.path, confirmed: nonsense, max: 10)
                #expect(delivery.payloads.map(TestDevice.mark) == ["D"])
            }
        }
    }

    @Test func `B-BKD-13 a store that went back gives no place in the queue out again`() async throws {
        try await withCloud { cloud in
            try await Self.ready(cloud)
            var device = try await TestDevice(cloud, "laptop")
            try await cloud.modify([create("R1")])
            #expect(try await device.received() == ["D"])
            let partition = StoragePartition.privateDatabase(TestCloud.container, .development, of: TestCloud.ada)
            let everything = KeyRange(lower: [], upper: [0xFF])
            let earlier = try await cloud.store.read(partition) { try await $0.scan(everything, limit: .max) }
            for name in ["R2", "R3"] {
                try await cloud.modify([create(name)])
                #expect(try await device.received() == ["D"])
            }
            try await cloud.store.write(partition) { transaction in
                transaction.clear(everything)
                for entry in earlier { transaction.set(entry.key, entry.value) }
            }
            try await ContinueFromEarlierState(cloud.cloud).run(restoredTo: 0, partitions: [partition.name])
            // The device's place is that of a notification that is lost: what comes now follows it.
            try await cloud.modify([create("R4")])
            #expect(try await device.received() == ["D"])
            #expect(try await device.received() == [])
        }
    }

    @Test func `a web client's position is stored from time to time`() async throws {
        try await withCloud { cloud in
            try await Self.ready(cloud)
            let device = try await TestDevice(cloud, "laptop")
            try await cloud.modify([create("R1")])
            #expect(try await device.courier.next(device.path, confirmed: nil, max: 1).payloads.count == 1)
            cloud.time.advance(20_000)
            #expect(try await device.courier.next(device.path, confirmed: nil, max: 1).payloads == [])
            let after = LongPollService(cloud: cloud.restarted(), hold: .zero)
            #expect(try await after.next(device.path, confirmed: nil, max: 1).payloads == [])
        }
    }

    @Test func `tokens are replaced by the same client, too many and too old ones go`() async throws {
        var limits = Limits()
        limits.pushTokensMax = 2
        try await withCloud(limits: limits) { cloud in
            try await Self.ready(cloud)
            var first = try await TestDevice(cloud, "a")
            try await cloud.modify([create("R1")])
            // The same client goes on where it was.
            first = try await TestDevice(cloud, "a")
            #expect(try await first.received() == ["D"])
            cloud.time.advance(1)
            _ = try await TestDevice(cloud, "b")
            cloud.time.advance(1)
            let third = try await TestDevice(cloud, "c")
            await expect(.itemNotFound) { _ = try await first.received() }
            cloud.time.advance(limits.pushTokenLifetime)
            _ = try await TestDevice(cloud, "d")
            await expect(.itemNotFound) {
                var third = third
                _ = try await third.received()
            }
            await expect(.itemNotFound) {
                _ = try await third.courier.next("AAAA", confirmed: nil, max: 1)
            }
        }
    }

    @Test func `a token that is kept is confirmed, one that is gone is replaced`() async throws {
        try await withCloud { cloud in
            let caller = Caller(user: TestCloud.ada, deviceID: "a", surface: .native)
            let made = try await PushTokens(cloud.cloud).create(
                clientID: "a", service: "development", in: TestCloud.container, .development, by: caller)
            let kept = try await PushTokens(cloud.cloud).register(
                made.token, clientID: "a", service: "development", in: TestCloud.container, .development, by: caller)
            #expect(kept.token == made.token)
            let other = try await PushTokens(cloud.cloud).register(
                [1, 2, 3], clientID: "b", service: "production", in: TestCloud.container, .development, by: caller)
            #expect(other.token != made.token && other.token.count == 32)
            await expect(.authenticationRequired) {
                _ = try await PushTokens(cloud.cloud).create(
                    clientID: nil, service: "development", in: TestCloud.container, .development, by: .anonymous)
            }
            await expect(.badRequest) {
                _ = try await PushTokens(cloud.cloud).create(
                    clientID: nil, service: "moon", in: TestCloud.container, .development, by: caller)
            }
        }
    }

    @Test func `a device learns that notifications were lost`() async throws {
        var limits = Limits()
        limits.notifications.countMax = 2
        try await withCloud(limits: limits) { cloud in
            try await cloud.makeZone()
            try await cloud.modify([create("R0")])
            var device = try await TestDevice(cloud, "laptop")
            try await cloud.subscribe(TestCloud.query("Q"))
            try await cloud.modify([create("R1"), create("R2"), create("R3")])
            #expect(try await device.received() == ["lost", "Q +R2", "Q +R3"])
            #expect(try await device.received() == [])
        }
    }
}
