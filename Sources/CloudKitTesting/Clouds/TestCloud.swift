import CloudKit
import CloudKitModel
import CloudKitServer
import Foundation
import Synchronization

/// A complete cloud inside a test, with users, devices, a clock and injected faults; removed when the test ends.
///
/// ```swift
/// @Test func `a note reaches the other device`() async throws {
///     try await TestCloud.run { cloud in
///         let ada = try await cloud.user("ada")
///         let phone = try await ada.device("phone").container("iCloud.com.example.notes")
///         let laptop = try await ada.device("laptop").container("iCloud.com.example.notes")
///         let note = try await phone.privateCloudDatabase.save(CKRecord(recordType: "Note"))
///         _ = try await laptop.privateCloudDatabase.record(for: note.recordID)
///     }
/// }
/// ```
///
/// It is the real server on a loopback port that the system chooses, with a store in memory. Any number of test clouds can run
/// at the same time, so tests can run in parallel.
///
/// A fresh cloud has no schema. In development, saves create record types and fields with all indexes; here, unlike in a cloud that is
/// served, also that of `recordName`, so that `NSPredicate(value: true)` works. Remove it with
/// `index("recordName", of: "Note", in: container, [])`, or give the cloud the schema of the app with `schema(_:in:)`.
public final class TestCloud: Sendable {
    /// The clock of the cloud and all its devices.
    public let clock: TestClock

    /// The state that a reset replaces.
    private struct State {
        var running: RunningCloud
        var isServing = true
        var users: [String: TestUser] = [:]
        var apiTokens = TestAPITokens()
    }

    private let state: Mutex<State>

    /// Starts an empty cloud. Stop it with `stop`, or use `run`.
    public init(clock: TestClock = TestClock()) async throws {
        self.clock = clock
        state = Mutex(State(running: try await RunningCloud.start(CloudStorage(clock))))
    }

    /// Starts an empty cloud, runs the body with it and stops it, also if the body throws.
    public static func run<Value>(
        clock: TestClock = TestClock(), _ body: (TestCloud) async throws -> Value
    ) async throws -> Value {
        let cloud = try await TestCloud(clock: clock)
        do {
            let value = try await body(cloud)
            await cloud.stop()
            return value
        } catch {
            await cloud.stop()
            throw error
        }
    }

    /// Stops the cloud permanently; devices cannot reach it from now on.
    public func stop() async { await state.withLock { $0.running }.stop() }

    /// Replaces the cloud by an empty one, without users, data and faults. The clock continues. Devices from before the reset
    /// belong to the removed cloud.
    public func reset() async throws {
        let new = try await RunningCloud.start(CloudStorage(clock))
        let old = state.withLock { state in
            defer { state = State(running: new) }
            return state.running
        }
        await old.stop()
    }

    /// Stops the cloud's server, as for an upgrade: acknowledged changes stay, and devices get `networkUnavailable` or
    /// `networkFailure`. Start it again with `startServer`.
    public func stopServer() async {
        let running = state.withLock { state in
            defer { state.isServing = false }
            return state.isServing ? state.running : nil
        }
        await running?.stopServing()
    }

    /// Starts the server again. Devices find it at its new port; tokens and sessions stay valid.
    public func startServer() async throws {
        guard let storage = state.withLock({ $0.isServing ? nil : $0.running.storage }) else { return }
        let restarted = try await RunningCloud.start(storage)
        state.withLock { state in
            state.running = restarted
            state.isServing = true
        }
    }

    /// Stops the server, runs the body and starts the server again.
    public func restartServer(while body: () async throws -> Void = {}) async throws {
        await stopServer()
        do {
            try await body()
        } catch {
            try await startServer()
            throw error
        }
        try await startServer()
    }

    /// The scheme, host and port, in the form of `CLOUDKIT_ENDPOINT`. Changes after a reset, and after a restart if the former port
    /// is no longer free; the cloud's own devices find it in any case.
    public var endpoint: String { running.endpoint }

    /// Returns the user of this name; the first call creates the account.
    ///
    /// - Parameter name: The name, also used in the address: `ada@example.com`.
    public func user(_ name: String = "ada") async throws -> TestUser {
        if let known = state.withLock({ $0.users[name] }) { return known }
        let user = TestUser(name: name, account: try await running.addAccount(named: name), cloud: self)
        return state.withLock { state in
            if let known = state.users[name] { return known }
            state.users[name] = user
            return user
        }
    }

    /// Returns a device without a signed-in account.
    public func signedOutDevice(_ name: String = "kiosk") throws -> TestDevice {
        TestDevice(name: name, cloud: self)
    }

    /// Waits until the cloud has done its deferred work, such as cascades of a default zone.
    public func settle() async throws {
        while try await RunOutbox(running.cloud).run() {}
    }

    var running: RunningCloud { state.withLock { $0.running } }

    /// Returns the API token for apps of a container, which the cloud knows once `registerAPITokens()` has returned.
    func apiToken(of container: String, _ environment: Environment) -> String {
        state.withLock { $0.apiTokens.token(of: TestAPITokens.App(container: container, environment: environment)) }
    }

    /// Makes the cloud accept all API tokens that were given out.
    func registerAPITokens() async throws {
        let (running, missing) = state.withLock { ($0.running, $0.apiTokens.unregistered) }
        for (app, token) in missing {
            try await running.addAPIToken(token, of: app.container, app.environment.model)
            state.withLock { $0.apiTokens.note(registered: token, of: app) }
        }
    }
}
