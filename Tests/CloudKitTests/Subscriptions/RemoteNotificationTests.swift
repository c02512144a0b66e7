import CloudKitDevice
import CloudKitModel
import CloudKitWire
import Foundation
import ScriptedCloud
import Synchronization
import Testing

@testable import CloudKit
@testable import CloudKitClient

/// A courier that gives what its test puts in.
private final class ScriptedCourier: Transport {
    private struct State {
        var answers: [TransportResponse] = []
        var asked: [String] = []
        var registrations = 0
        var waiting: CheckedContinuation<TransportResponse, any Error>?
    }

    private let state = Mutex(State())

    /// The positions that were confirmed, one a question.
    var confirmed: [String] { state.withLock { $0.asked } }
    var registrations: Int { state.withLock { $0.registrations } }

    func answer(_ answer: TransportResponse) {
        let waiting = state.withLock { state in
            if let waiting = state.waiting.take() {
                return waiting as CheckedContinuation<TransportResponse, any Error>?
            }
            state.answers.append(answer)
            return nil
        }
        waiting?.resume(returning: answer)
    }

    func give(_ names: String..., position: String) {
        let payloads = names.map { name in
            PushNotification(
                id: nil, container: nil, user: UserID("_me"), subscriptionID: name, scope: .private,
                subject: .database
            ).payload()
        }
        answer(TransportResponse(status: 200, body: LongPollAnswer(payloads: payloads, position: position).wire()))
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard request.url.path.hasPrefix("/courier/") else {
            let count = state.withLock { state in
                state.registrations += 1
                return state.registrations
            }
            let body = #"{"apnsToken":"AAAA","webcourierURL":"http://x/courier/\#(count)","position":"p0"}"#
            return TransportResponse(status: 200, body: Array(body.utf8))
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let answer = state.withLock { state -> TransportResponse? in
                    state.asked.append(request.item("confirmed") ?? "")
                    if !state.answers.isEmpty { return state.answers.removeFirst() }
                    state.waiting = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
                if Task.isCancelled { cancel() }
            }
        } onCancel: {
            cancel()
        }
    }

    private func cancel() {
        state.withLock { $0.waiting.take() }?.resume(throwing: CancellationError())
    }
}

@Suite(.timeLimit(.minutes(20))) struct RemoteNotificationTests {
    private static func container(
        _ courier: ScriptedCourier, sleep: @escaping @Sendable (Duration) -> Void = { _ in }
    ) -> CKContainer {
        let time = ClientClock(
            now: ClientClock.system.now,
            sleep: {
                sleep($0)
                await Task.yield()
            }, random: { 0 })
        return CKContainer(
            identifier: "iCloud.a", endpoint: "http://x", account: ScriptedAccount(), transport: courier,
            clientEnvironment: time)
    }

    @Test func `notifications arrive in order and are confirmed by the next question`() async throws {
        let courier = ScriptedCourier()
        courier.give("A", "B", position: "p1")
        courier.give("C", position: "p2")
        var notifications = Self.container(courier).remoteNotifications.makeAsyncIterator()
        var names: [String?] = []
        for _ in 0..<3 { names.append(await notifications.next()?.notification?.subscriptionID) }
        #expect(names == ["A", "B", "C"])
        while courier.confirmed.count < 3 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(courier.confirmed == ["p0", "p1", "p2"])
        #expect(courier.registrations == 1)
    }

    @Test func `all listeners share one connection and each receives everything`() async throws {
        let courier = ScriptedCourier()
        let container = Self.container(courier)
        var first = container.remoteNotifications.makeAsyncIterator()
        var second = container.remoteNotifications.makeAsyncIterator()
        courier.give("A", position: "p1")
        #expect(await first.next()?.notification?.subscriptionID == "A")
        #expect(await second.next()?.notification?.subscriptionID == "A")
        #expect(courier.registrations == 1)
    }

    @Test func `a position is stored when all listeners have asked for the next notification`() async throws {
        let courier = ScriptedCourier()
        let container = Self.container(courier)
        let hub = container.connection.notifications
        let slow = hub.listen(through: container.connection.cloud)
        let fast = hub.listen(through: container.connection.cloud)
        hub.registrations.store(CourierRegistration(account: "d", courierURL: "u", position: "p0"))
        let note = PayloadValue.null
        hub.receive([note], position: "p1")
        _ = await fast.next()
        #expect(hub.registrations.load()?.position == "p0")
        _ = await slow.next()
        #expect(hub.registrations.load()?.position == "p0")
        hub.receive([note], position: "p2")
        _ = await fast.next()
        _ = await slow.next()
        #expect(hub.registrations.load()?.position == "p1")
    }

    @Test func `a registration that is gone is made again, and failures pass`() async throws {
        let courier = ScriptedCourier()
        courier.answer(TransportResponse(status: 503))
        courier.answer(TransportResponse(status: 404))
        courier.answer(TransportResponse(status: 200, body: Array("no json".utf8)))
        courier.give("A", position: "p1")
        var notifications = Self.container(courier).remoteNotifications.makeAsyncIterator()
        #expect(await notifications.next()?.notification?.subscriptionID == "A")
        #expect(courier.registrations == 2)
    }

    @Test func `pauses after failures grow, and begin again after an answer`() async throws {
        let courier = ScriptedCourier()
        for _ in 0..<3 { courier.answer(TransportResponse(status: 503)) }
        courier.give("A", position: "p1")
        courier.answer(TransportResponse(status: 503))
        courier.give("B", position: "p2")
        let pauses = Mutex<[Duration]>([])
        let container = Self.container(courier) { pause in pauses.withLock { $0.append(pause) } }
        var notifications = container.remoteNotifications.makeAsyncIterator()
        #expect(await notifications.next()?.notification?.subscriptionID == "A")
        #expect(await notifications.next()?.notification?.subscriptionID == "B")
        #expect(pauses.withLock { $0 } == [250, 500, 1000, 250].map { .milliseconds($0) })
    }

    @Test func `a cancelled task gets no more, and a closure is called until it is let go`() async throws {
        let courier = ScriptedCourier()
        let container = Self.container(courier)
        let waiting = Task {
            var notifications = container.remoteNotifications.makeAsyncIterator()
            return await notifications.next() == nil
        }
        waiting.cancel()
        #expect(await waiting.value)
        let (names, name) = AsyncStream.makeStream(of: String.self)
        let observation = container.observeRemoteNotifications {
            name.yield($0.notification?.subscriptionID ?? "?")
        }
        courier.give("A", position: "p1")
        #expect(await names.first { _ in true } == "A")
        observation.cancel()
    }

    @Test func `a profile remembers its registration`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "welkin-" + UUID().uuidString).path()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func registrations(_ endpoint: String = "http://x") -> ProfileRegistrations {
            ProfileRegistrations(folder: folder, endpoint: endpoint, container: "iCloud.a", environment: "development")
        }
        let first = registrations()
        let id = first.clientID
        first.store(CourierRegistration(account: "d", courierURL: "u", position: "p0"))
        first.keep(position: "p1")
        first.flush()
        #expect(registrations().load() == CourierRegistration(account: "d", courierURL: "u", position: "p1"))
        #expect(registrations().clientID == id)
        #expect(registrations("http://other").load() == nil)
    }
}
