import CloudKitModel
import OrderedStore
import Testing

@testable import CloudKitServer

/// The frequency of deliveries from a partition with many writes.
@Suite(.timeLimit(.minutes(20))) struct DeliveryPaceTests {
    /// A pause of the cloud, which lasts until its test ends it.
    private struct Rest: Sendable {
        var duration: Duration
        var continuation: CheckedContinuation<Void, Never>

        func end() { continuation.resume() }
    }

    /// Reports when delivery follows the store's commits.
    private struct Herald: NotificationTransport {
        let began: AsyncStream<Void>.Continuation

        func deliver(in partition: Partition) async {}
        func run() async { began.finish() }
    }

    private func deliver(_ test: TestCloud) async -> Task<Void, Never> {
        let (beginning, began) = AsyncStream.makeStream(of: Void.self)
        let delivery = NotificationDelivery(cloud: test.cloud, transports: [Herald(began: began)])
        // A test that ends closes its store under a delivery that it has cancelled.
        let running = Task { await delivery.run { if !Task.isCancelled { Issue.record("\($0)") } } }
        for await _ in beginning {}
        return running
    }

    @Test func `B-PSH-02 the first change is delivered at once, later ones together after a pause`()
        async throws
    {
        try await withCloud { test in
            let (rests, begun) = AsyncStream.makeStream(of: Rest.self)
            test.time.sleep { duration in
                await withCheckedContinuation { begun.yield(Rest(duration: duration, continuation: $0)) }
            }
            let writer = Caller(user: TestCloud.ada, deviceID: "writer")
            func write(_ names: String...) async throws {
                for name in names {
                    try await test.modify([create(name)], zone: "_defaultZone", in: .public, by: writer)
                }
            }
            try await write("R0")
            var bob = try await TestDevice(test, "bob", of: TestCloud.bob)
            try await test.subscribe(TestCloud.query("S"), in: .public, by: TestCloud.bob)
            let running = await deliver(test)
            defer { running.cancel() }
            var pauses = rests.makeAsyncIterator()

            try await write("R1")
            let first = try #require(await pauses.next())
            // The clock does not advance: delivery takes no time, and the number of queued notifications counts.
            #expect(first.duration == .milliseconds(2))
            #expect(try await bob.received() == ["S +R1"])
            try await write("R2", "R3", "R4")
            #expect(try await bob.received() == [])

            first.end()
            let second = try #require(await pauses.next())
            #expect(second.duration == .milliseconds(6))
            #expect(try await bob.received() == ["S +R2", "S +R3", "S +R4"])
            second.end()
        }
    }

    @Test func `B-PSH-02 a rest lasts ten times as long as the work, and two seconds at most`() {
        #expect(DeliveryPace.pause(after: .milliseconds(30), queued: 100) == .milliseconds(300))
        #expect(DeliveryPace.pause(after: .milliseconds(1), queued: 100) == .milliseconds(200))
        #expect(DeliveryPace.pause(after: .milliseconds(1), queued: 5000) == .seconds(2))
        #expect(DeliveryPace.pause(after: .seconds(1), queued: 1) == .seconds(2))
    }

    @Test func `B-PSH-02 the outbox leaves notifications of a moment ago for the next delivery`() async throws {
        try await withCloud { test in
            let writer = Caller(user: TestCloud.ada, deviceID: "writer")
            func write(_ name: String) async throws {
                try await test.modify([create(name)], zone: "_defaultZone", in: .public, by: writer)
            }
            try await write("R0")
            var bob = try await TestDevice(test, "bob", of: TestCloud.bob)
            try await test.subscribe(TestCloud.query("S"), in: .public, by: TestCloud.bob)
            let outbox = RunOutbox(test.cloud)

            try await write("R1")
            #expect(try await outbox.run(isPaced: true))
            #expect(try await bob.received() == ["S +R1"])
            try await write("R2")
            #expect(try await !outbox.run(isPaced: true))
            #expect(try await bob.received() == [])

            test.time.advance(10)
            #expect(try await outbox.run(isPaced: true))
            #expect(try await bob.received() == ["S +R2"])
            // Whoever wants all work done now does not wait.
            try await write("R3")
            #expect(try await outbox.run())
            #expect(try await bob.received() == ["S +R3"])
        }
    }

    @Test func `B-PSH-02 the outbox leaves notifications to a delivery that runs`() async throws {
        let pace = DeliveryPace()
        let partition = Partition("p")
        #expect(pace.outboxMayDeliver(partition, now: .zero))
        #expect(pace.begin(partition))
        #expect(!pace.outboxMayDeliver(partition, now: .zero))
        #expect(pace.end(partition))
        #expect(pace.outboxMayDeliver(partition, now: .zero))
        pace.rest(partition, after: .zero, queued: 2, now: .zero)
        #expect(!pace.outboxMayDeliver(partition, now: .milliseconds(3)))
        #expect(pace.outboxMayDeliver(Partition("q"), now: .milliseconds(3)))
        #expect(pace.outboxMayDeliver(partition, now: .milliseconds(4)))
    }
}
