import CloudKitTesting
import FaultyNetwork
import Synchronization
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// Engines that sync by themselves, on clocks that their tests move.
@Suite(.timeLimit(.minutes(20))) struct AutomaticSyncTests {
    /// A device of a user with an automatic engine.
    private struct Device {
        let app: Notebook
        let clock: TestClock
        let network: FaultyTransport

        init(_ cloud: ThrowawayCloud, _ user: ThrowawayCloud.User) async throws {
            clock = TestClock(skipsWaits: false)
            network = FaultyTransport(
                over: clock.pausing(over: HTTPTransport.shared), clientEnvironment: clock.clientEnvironment)
            let container = try await cloud.device(of: user, over: network, clientEnvironment: clock.clientEnvironment)
            app = try Notebook(container.privateCloudDatabase, automaticallySync: true)
        }

        /// Lets the device's time pass until an event is handled.
        func event(_ isWanted: @escaping @Sendable (CKSyncEngine.Event) -> Bool) async throws {
            _ = await app.syncEngine
            _ = try await clock.running { await app.events.first(where: isWanted) }
        }

        func sent() async throws {
            try await event {
                if case .sentRecordZoneChanges(let event) = $0 { !event.savedRecords.isEmpty } else { false }
            }
        }

        func fetched(_ name: String) async throws {
            try await event { event in
                guard case .fetchedRecordZoneChanges(let event) = event else { return false }
                return event.modifications.contains { $0.record.recordID.recordName == name }
            }
        }
    }

    @Test func `B-SYN-11 a change on one device reaches the other without a call`() async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try await Device(cloud, user)
            let b = try await Device(cloud, user)
            await a.app.write("n", "one", edit: 1)
            try await a.sent()
            try await b.fetched("n")
            #expect(await b.app.notes["n"]?.text == "one")
            await b.app.write("n", "two", edit: 2)
            try await b.sent()
            await a.app.syncEngine.remoteChanged()
            try await a.event { event in
                guard case .fetchedRecordZoneChanges(let event) = event else { return false }
                return event.modifications.contains { $0.record["text"] as? String == "two" }
            }
            #expect(await a.app.notes["n"]?.text == "two")
        }
    }

    @Test func `B-SYN-10 an engine hears of a change by its own subscription, without asking`() async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try await Device(cloud, user)
            let b = try await Device(cloud, user)
            try await b.event { if case .didFetchChanges = $0 { true } else { false } }
            #expect(try await b.app.database.allSubscriptions().map(\.subscriptionID) == ["CKSyncEngine-private"])
            while b.app.database.connection.notifications.registrations.load() == nil { await Task.yield() }
            await a.app.write("n", "one", edit: 1)
            try await a.sent()
            // The clock of this device does not advance, so nothing that depends on the clock happens.
            for await event in b.app.events {
                guard case .fetchedRecordZoneChanges(let event) = event else { continue }
                if event.modifications.contains(where: { $0.record.recordID.recordName == "n" }) { break }
            }
            #expect(await b.app.notes["n"]?.text == "one")
        }
    }

    @Test func `B-SYN-08 B-THR-02 a server that asks for a pause is left alone for so long`() async throws {
        try await ThrowawayCloud.run { cloud in
            let a = try await Device(cloud, cloud.addUser("ada"))
            let clock = a.clock
            let attempts = Mutex<[Duration]>([])
            a.network.decide { request in
                guard request.url.path.hasSuffix("records/modify") else { return nil }
                return attempts.withLock { attempts in
                    attempts.append(clock.elapsed)
                    return attempts.count == 1 ? .refused(status: 503, retryAfter: 120) : nil
                }
            }
            await a.app.write("n", "one", edit: 1)
            try await a.sent()
            let times = attempts.withLock { $0 }
            #expect(times.count == 2)
            #expect(times[1] - times[0] >= .seconds(120))
            #expect(await a.app.failures == [.serviceUnavailable])
        }
    }

    @Test func `B-SYN-08 hours offline end by themselves, and nothing is lost`() async throws {
        try await ThrowawayCloud.run { cloud in
            let a = try await Device(cloud, cloud.addUser("ada"))
            let clock = a.clock
            let attempts = Mutex(0)
            a.network.decide { request in
                guard clock.elapsed < .seconds(6 * 3600) else { return nil }
                // The connection for notifications has its own pauses.
                if !request.url.path.contains("tokens/") { attempts.withLock { $0 += 1 } }
                return .unreachable
            }
            for number in 0..<5 { await a.app.write("n\(number)", "offline", edit: number) }
            try await a.sent()
            #expect(a.clock.elapsed >= .seconds(6 * 3600))
            // The pauses grow from one to ten minutes, for a fetch and a send: about 50 attempts on a quiet machine;
            // together with many other tests up to 300 were measured. Without pauses there would be as many as the
            // machine can make.
            #expect(attempts.withLock { $0 } < 1_000)
            #expect(await a.app.syncEngine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test func `B-SYN-15 a conflict is resolved automatically, with a fetch first`() async throws {
        try await ThrowawayCloud.run { cloud in
            let user = try await cloud.addUser("ada")
            let a = try await Device(cloud, user)
            await a.app.write("n", "mine", edit: 1)
            try await a.sent()
            // The device does not see the other's records before it has sent something itself.
            let hasSent = Mutex(false)
            a.network.decide { request in
                hasSent.withLock { hasSent in
                    if request.url.path.hasSuffix("records/modify") { hasSent = true }
                    return !hasSent && request.url.path.contains("/changes/") ? .unreachable : nil
                }
            }
            let other = try await cloud.device(of: user).privateCloudDatabase
            let record = try await other.record(for: .init(recordName: "n", zoneID: Notebook.zone.zoneID))
            record["text"] = "theirs"
            record["edit"] = 5
            try await other.save(record)
            await a.app.write("n", "mine again", edit: 9)
            try await a.sent()
            #expect(await a.app.failures == [.serverRecordChanged])
            let now = try await other.record(for: record.recordID)
            #expect(now["text"] as? String == "mine again")
        }
    }

    @Test func `An engine is released with its last reference`() async throws {
        try await ThrowawayCloud.run { cloud in
            let clock = TestClock(skipsWaits: false)
            let container = try await cloud.device(of: cloud.addUser("ada"), clientEnvironment: clock.clientEnvironment)
            let delegate = Forgetful()
            weak var engine: CKSyncEngine?
            do {
                let held = CKSyncEngine(
                    .init(database: container.privateCloudDatabase, stateSerialization: nil, delegate: delegate))
                engine = held
                try await held.fetchChanges()
                // The engine's own fetch runs at the same time; it has ended when the engine waits for its next one.
                _ = try await clock.nextSleep()
            }
            while engine != nil { await Task.yield() }
            #expect(engine == nil)
        }
    }
}
