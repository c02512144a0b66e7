import CloudKitModel
import CloudKitRecordLayer
import Testing

@testable import CloudKitServer

/// Notifications where two nodes serve one store.
@Suite(.timeLimit(.minutes(20))) struct SharedDeliveryTests {
    private static let publicData = StoragePartition.publicDatabase(TestCloud.container, .development)
    private static let adas = StoragePartition.privateDatabase(TestCloud.container, .development, of: TestCloud.ada)

    /// Bob's new notes in the public database concern Ada.
    private static func ready(_ cloud: TestCloud) async throws {
        try await cloud.modify([create("R0")], zone: "_defaultZone", in: .public, by: Caller(user: TestCloud.bob))
        try await cloud.subscribe(TestCloud.shown("Q"), in: .public)
    }

    private static func save(_ name: String, at cloud: TestCloud) async throws {
        try await cloud.modify([create(name)], zone: "_defaultZone", in: .public, by: Caller(user: TestCloud.bob))
    }

    @Test func `B-PSH-02 what one node delivered before it died is not delivered again by another`() async throws {
        let nodes = TwoNodes()
        try await Self.ready(nodes.first)
        var device = try await TestDevice(nodes.second, "phone")
        try await Self.save("R1", at: nodes.first)
        let waiting = try await nodes.first.store.read(Self.publicData) {
            try await $0.crossPartitionNotifications(limit: 10)
        }
        #expect(waiting.count == 1)
        while try await RunOutbox(nodes.first.cloud).run() {}
        #expect(try await device.received() == ["Q +R1"])
        // It died after the queue was written and before the job was done; meanwhile there is more.
        try await nodes.first.store.write(Self.publicData) { transaction in
            for notification in waiting { transaction.set(notification) }
        }
        try await Self.save("R2", at: nodes.second)
        while try await RunOutbox(nodes.second.cloud).run() {}
        #expect(try await device.received() == ["Q +R2"])
        #expect(try await device.received() == [])
    }

    @Test func `B-PSH-02 two nodes that deliver at the same time deliver once`() async throws {
        let nodes = TwoNodes()
        try await Self.ready(nodes.first)
        var device = try await TestDevice(nodes.first, "phone")
        for number in 1...20 {
            try await Self.save("R\(number)", at: number % 2 == 0 ? nodes.first : nodes.second)
            async let here = DeliverAcrossPartitions(nodes.first.cloud).run(from: Self.publicData)
            async let there = DeliverAcrossPartitions(nodes.second.cloud).run(from: Self.publicData)
            _ = try await (here, there)
        }
        #expect(try await device.received() == (1...20).map { "Q +R\($0)" })
    }

    @Test func `one node sends by push services, and after its death the other does`() async throws {
        let nodes = TwoNodes()
        let service = TestPushService()
        let services = [nodes.first, nodes.second].map { PushDeliveryService(cloud: $0.cloud, services: [service]) }
        let deliveries = zip([nodes.first, nodes.second], services).map {
            NotificationDelivery(cloud: $0.0.cloud, transports: [$0.1])
        }
        let running = deliveries.map { delivery in Task { await delivery.run { Issue.record("\($0)") } } }
        defer { for task in running { task.cancel() } }
        while !nodes.first.cloud.nodes.holds(.push) {
            try await Task.sleep(for: .milliseconds(1))
            try await nodes.first.cloud.nodes.beat()
        }
        try await nodes.second.cloud.nodes.beat()
        try await Self.ready(nodes.first)
        // The address is registered at the node that does not send.
        try await nodes.second.pushTo("a")
        func sent(_ count: Int, at cloud: TestCloud) async throws -> [String] {
            var sent: [String] = []
            while sent.count < count {
                while try await RunOutbox(cloud.cloud).run() {}
                sent += service.taken()
                try await Task.sleep(for: .milliseconds(1))
            }
            return sent
        }
        try await Self.save("R1", at: nodes.second)
        #expect(try await sent(1, at: nodes.second) == ["a Q +R1"])
        // Until its outcome is stored, a message may be sent again by the next node.
        while try await nodes.first.store.read(Self.adas, { try await $0.pushTokens() }).first?.position == 0 {
            try await Task.sleep(for: .milliseconds(1))
        }
        nodes.advance(5_000)
        try await nodes.second.cloud.nodes.beat()
        #expect(nodes.second.cloud.nodes.holds(.push) && !nodes.first.cloud.nodes.holds(.push))
        try await Self.save("R2", at: nodes.first)
        #expect(try await sent(1, at: nodes.first) == ["a Q +R2"])
        #expect(service.taken() == [])
    }

    @Test func `a web client that asks two nodes in turn gets each notification once`() async throws {
        let nodes = TwoNodes()
        try await nodes.first.makeZone()
        try await nodes.first.modify([create("R0")])
        try await nodes.first.subscribe(TestCloud.query("Q"))
        let registration = try await PushTokens(nodes.first.cloud).create(
            clientID: "page", service: "development", in: TestCloud.container, .development,
            by: Caller(user: TestCloud.ada, deviceID: "page"))
        let path = try #require(registration.longPollPath)
        let couriers = [nodes.first, nodes.second].map { LongPollService(cloud: $0.cloud, hold: .zero) }
        var received: [String] = []
        for number in 1...6 {
            try await nodes.first.modify(
                [create("R\(number)")], by: Caller(user: TestCloud.ada, deviceID: "other"))
            received += try await couriers[number % 2].next(path, confirmed: nil, max: 1).payloads.map(TestDevice.mark)
        }
        #expect(received == (1...6).map { "Q +R\($0)" })
        for courier in couriers { #expect(try await courier.next(path, confirmed: nil, max: 1).payloads.isEmpty) }
    }

    @Test func `requests that wait end when the node drains, and later ones wait for a moment`() async throws {
        let nodes = TwoNodes()
        let courier = LongPollService(cloud: nodes.first.cloud, hold: .seconds(60))
        let device = try await TestDevice(nodes.first, "phone", courier: courier)
        func wait() -> Task<Int, any Error> {
            Task { try await courier.next(device.path, confirmed: device.position, max: 1).payloads.count }
        }
        let first = wait()
        while courier.waitingCount == 0 { try await Task.sleep(for: .milliseconds(1)) }
        courier.drain()
        #expect(try await first.value == 0)
        let running = Task { await courier.run() }
        defer { running.cancel() }
        let second = wait()
        while courier.waitingCount == 0 { try await Task.sleep(for: .milliseconds(1)) }
        nodes.advance(500)
        #expect(try await second.value == 0)
    }
}
