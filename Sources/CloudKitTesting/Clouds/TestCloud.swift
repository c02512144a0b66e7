import CloudKit
import CloudKitModel
import CloudKitServer
import Foundation
import Synchronization

/// A whole cloud inside a test: people, devices, a clock and trouble on demand, gone when the test ends.
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
/// It is the real cloud with its real rules, on a port of loopback that the system chooses, with a store in memory. Any number
/// of them live beside each other, so tests can run in parallel.
public final class TestCloud: Sendable {
    /// The time for the cloud and all its devices.
    public let clock: TestClock

    /// What a reset replaces.
    private struct State {
        var running: RunningCloud
        var isServing = true
        var people: [String: TestUser] = [:]
        var apiTokens: [String: String] = [:]
    }

    private let state: Mutex<State>

    /// Starts an empty cloud. `stop` ends it; `run` does both.
    public init(clock: TestClock = TestClock()) async throws {
        self.clock = clock
        state = Mutex(State(running: try await RunningCloud.start(CloudHoldings(clock))))
    }

    /// Starts an empty cloud, runs the body with it, and stops it, whatever becomes of the body.
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

    /// Ends the cloud; devices find nobody there from now on.
    public func stop() async { await state.withLock { $0.running }.stop() }

    /// Begins anew: no people, no data, no trouble. The clock goes on. Devices from before the reset belong to a cloud that is
    /// gone.
    public func reset() async throws {
        let fresh = try await RunningCloud.start(CloudHoldings(clock))
        let old = state.withLock { state in
            defer { state = State(running: fresh) }
            return state.running
        }
        await old.stop()
    }

    /// Stops the cloud's server, as for a new version: what it has acknowledged stays, devices find nobody there
    /// (`networkUnavailable` or `networkFailure`). `startServer` brings it back.
    public func stopServer() async {
        let running = state.withLock { state in
            defer { state.isServing = false }
            return state.isServing ? state.running : nil
        }
        await running?.stopServing()
    }

    /// Starts the server again. Devices find it without being told; tokens and sessions are good as before.
    public func startServer() async throws {
        guard let holdings = state.withLock({ $0.isServing ? nil : $0.running.holdings }) else { return }
        let fresh = try await RunningCloud.start(holdings)
        state.withLock { state in
            state.running = fresh
            state.isServing = true
        }
    }

    /// Stops the server, runs the body while nobody answers, and starts the server again.
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

    /// Scheme, host and port, as `CLOUDKIT_ENDPOINT` takes them. Another one after a reset, and after a restart of the server if
    /// somebody else took the port meanwhile; the cloud's own devices find it in any case.
    public var endpoint: String { running.endpoint }

    /// The person of this name: makes the account at the first call and gives the same one later.
    ///
    /// - Parameter name: Becomes the address too: `ada@example.com`.
    public func user(_ name: String = "ada") async throws -> TestUser {
        if let known = state.withLock({ $0.people[name] }) { return known }
        let user = TestUser(name: name, account: try await running.addAccount(named: name), cloud: self)
        return state.withLock { state in
            if let known = state.people[name] { return known }
            state.people[name] = user
            return user
        }
    }

    /// A device on which nobody is signed in.
    public func signedOutDevice(_ name: String = "kiosk") throws -> TestDevice {
        TestDevice(name: name, cloud: self)
    }

    /// Waits until the cloud has done what saves left for later, such as cascades of a default zone.
    public func settle() async throws {
        while try await RunOutbox(running.cloud).run() {}
    }

    var running: RunningCloud { state.withLock { $0.running } }

    /// The API token with which apps of a container are let in.
    func apiToken(of container: String) async throws -> String {
        if let known = state.withLock({ $0.apiTokens[container] }) { return known }
        let token = try await running.makeAPIToken(of: container)
        return state.withLock { state in
            if let known = state.apiTokens[container] { return known }
            state.apiTokens[container] = token
            return token
        }
    }
}
