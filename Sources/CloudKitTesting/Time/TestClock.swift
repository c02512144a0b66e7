import CloudKit
import CloudKitClient
import Foundation
import Synchronization

/// The clock of a test cloud and its devices, which advances only when the test advances it.
///
/// Devices that retry later, because the cloud asked them to, wait on this clock. By default a wait does not delay the
/// test: the clock jumps to its end. Set `skipsWaits` to false to observe the waits, and call `advance(by:)` to end
/// them.
public final class TestClock: Sendable {
    struct Sleeper {
        var due: Duration
        var continuation: CheckedContinuation<Void, any Error>
    }

    struct State {
        var elapsed = Duration.zero
        var skipsWaits: Bool
        var sleepers: [UInt64: Sleeper] = [:]
        var nextID: UInt64 = 0
        /// The number of requests in flight.
        var requests = 0
        /// The tasks that wait for a change of the state.
        var watchers: [AsyncStream<Void>.Continuation] = []

        mutating func watch() -> AsyncStream<Void> {
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
            watchers.append(continuation)
            return stream
        }
    }

    /// The initial time of the clock.
    public let start: Date
    private let state: Mutex<State>

    /// Creates a clock.
    ///
    /// - Parameters:
    ///   - start: The initial time, rounded down to milliseconds.
    ///   - skipsWaits: Whether the clock jumps ahead when a device waits.
    public init(startingAt start: Date = Date(), skipsWaits: Bool = true) {
        // Whole milliseconds, the precision of the cloud's timestamps.
        self.start = Date(timeIntervalSince1970: (start.timeIntervalSince1970 * 1000).rounded(.down) / 1000)
        state = Mutex(State(skipsWaits: skipsWaits))
    }

    /// The current time.
    public var now: Date { start.addingTimeInterval(elapsed / .seconds(1)) }

    /// Whether the clock jumps ahead when a device waits.
    public var skipsWaits: Bool {
        get { state.withLock { $0.skipsWaits } }
        set { state.withLock { $0.skipsWaits = newValue } }
    }

    /// The number of waits in progress.
    public var waitingCount: Int { state.withLock { $0.sleepers.count } }

    /// Waits until a device waits on this clock, or the task is cancelled; for tests that set `skipsWaits` to false.
    public func waitForSleepers() async { _ = try? await nextSleep() }

    /// Advances the time and ends the waits that are due, the earliest first.
    public func advance(by duration: Duration) {
        let awake = state.withLock { state in
            state.elapsed += max(.zero, duration)
            let awake = state.sleepers.filter { $0.value.due <= state.elapsed }
            for id in awake.keys { state.sleepers[id] = nil }
            return awake.sorted { ($0.value.due, $0.key) < ($1.value.due, $1.key) }
        }
        for sleeper in awake { sleeper.value.continuation.resume() }
    }

    /// The time since the clock was created.
    package var elapsed: Duration { state.withLock { $0.elapsed } }

    /// The current time in milliseconds since 1970.
    package var milliseconds: Int64 { Int64((now.timeIntervalSince1970 * 1000).rounded()) }

    /// The clock and the random numbers of the cloud's devices: waits pass on this clock, and jitter is constant.
    package var clientEnvironment: ClientClock {
        ClientClock(
            now: { self.elapsed }, sleep: { try await self.sleep($0) },
            // Timeouts of operations run on the real clock, as the answers do.
            timeout: { try await ContinuousClock().sleep(for: $0) }, random: { 0.5 })
    }

    func sleep(_ duration: Duration) async throws {
        try Task.checkCancellation()
        let (isSkipped, id, due) = state.withLock { state in
            state.nextID += 1
            return (state.skipsWaits, state.nextID, state.elapsed + duration)
        }
        if isSkipped {
            advance(by: duration)
            return await Task.yield()
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Void, any Error>? = change { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.elapsed >= due { return .success(()) }
                    state.sleepers[id] = Sleeper(due: due, continuation: continuation)
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let sleeper = change { $0.sleepers.removeValue(forKey: id) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Changes the state and resumes the tasks that wait for a change.
    func change<Value>(_ body: (inout State) -> Value) -> Value {
        let (value, watchers) = state.withLock { state in
            let value = body(&state)
            defer { state.watchers = [] }
            return (value, state.watchers)
        }
        for watcher in watchers { watcher.finish() }
        return value
    }

    /// Waits until the body returns a value.
    ///
    /// - Throws: `CancellationError`.
    func value<Value>(_ body: (State) -> Value?) async throws -> Value {
        while true {
            try Task.checkCancellation()
            let (value, changes) = state.withLock { (body($0), $0.watch()) }
            if let value { return value }
            for await _ in changes { break }
        }
    }
}
