import CloudKit
import CloudKitClient
import Foundation
import Synchronization

/// The time as a test cloud and its devices see it: it stands still until the test moves it.
///
/// Devices that wait, because the cloud asked them to come back later, wait on this clock. By default they do not keep the
/// test waiting: the clock jumps to the moment they wait for. Set `skipsWaits` to false to see them wait, and `advance(by:)`
/// to let them go on.
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
        /// Requests that are under way.
        var requests = 0
        /// Who waits for any of this to change.
        var watchers: [AsyncStream<Void>.Continuation] = []

        mutating func watch() -> AsyncStream<Void> {
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
            watchers.append(continuation)
            return stream
        }
    }

    /// What the clock showed at first.
    public let start: Date
    private let state: Mutex<State>

    public init(startingAt start: Date = Date(), skipsWaits: Bool = true) {
        // Whole milliseconds: what the cloud notes on records is as exact as that.
        self.start = Date(timeIntervalSince1970: (start.timeIntervalSince1970 * 1000).rounded(.down) / 1000)
        state = Mutex(State(skipsWaits: skipsWaits))
    }

    /// What the clock shows.
    public var now: Date { start.addingTimeInterval(elapsed / .seconds(1)) }

    /// Whether the clock jumps ahead when a device waits.
    public var skipsWaits: Bool {
        get { state.withLock { $0.skipsWaits } }
        set { state.withLock { $0.skipsWaits = newValue } }
    }

    /// Devices that wait now.
    public var waitingCount: Int { state.withLock { $0.sleepers.count } }

    /// Returns once a device waits on this clock, or the task is cancelled; for tests that set `skipsWaits` to false.
    public func waitForSleepers() async { _ = try? await nextSleep() }

    /// Moves the time on and wakes whoever waited for it, the earliest first.
    public func advance(by duration: Duration) {
        let awake = state.withLock { state in
            state.elapsed += max(.zero, duration)
            let awake = state.sleepers.filter { $0.value.due <= state.elapsed }
            for id in awake.keys { state.sleepers[id] = nil }
            return awake.sorted { ($0.value.due, $0.key) < ($1.value.due, $1.key) }
        }
        for sleeper in awake { sleeper.value.continuation.resume() }
    }

    /// Since the clock was made.
    package var elapsed: Duration { state.withLock { $0.elapsed } }

    /// Milliseconds since 1970, as the cloud counts.
    package var milliseconds: Int64 { Int64((now.timeIntervalSince1970 * 1000).rounded()) }

    package var timekeeping: ClientClock {
        ClientClock(
            now: { self.elapsed }, sleep: { try await self.sleep($0) },
            // An operation's own patience is measured on the real clock, as the answers it waits for are.
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

    /// Changes something that others may be waiting for.
    func change<Value>(_ body: (inout State) -> Value) -> Value {
        let (value, watchers) = state.withLock { state in
            let value = body(&state)
            defer { state.watchers = [] }
            return (value, state.watchers)
        }
        for watcher in watchers { watcher.finish() }
        return value
    }

    /// Waits until the body has an answer.
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
