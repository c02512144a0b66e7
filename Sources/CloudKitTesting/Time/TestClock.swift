import CloudKit
import Foundation
import Synchronization

/// The time as a test cloud and its devices see it: it stands still until the test moves it.
///
/// Devices that wait, because the cloud asked them to come back later, wait on this clock. By default they do not keep the
/// test waiting: the clock jumps to the moment they wait for. Set `skipsWaits` to false to see them wait, and `advance(by:)`
/// to let them go on.
public final class TestClock: Sendable {
    private struct Sleeper {
        var id: UInt64
        var due: Duration
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var elapsed = Duration.zero
        var skipsWaits = true
        var sleepers: [Sleeper] = []
        var nextID: UInt64 = 0
        /// Who waits for somebody to wait.
        var watchers: [CheckedContinuation<Void, Never>] = []
    }

    /// What the clock showed at first.
    public let start: Date
    private let state = Mutex(State())

    public init(startingAt start: Date = Date()) {
        // Whole milliseconds: what the cloud notes on records is as exact as that.
        self.start = Date(timeIntervalSince1970: (start.timeIntervalSince1970 * 1000).rounded(.down) / 1000)
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

    /// Returns once a device waits on this clock; for tests that set `skipsWaits` to false.
    public func waitForSleepers() async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.sleepers.isEmpty { state.watchers.append(continuation) }
                return !state.sleepers.isEmpty
            }
            if isThere { continuation.resume() }
        }
    }

    /// Moves the time on and wakes whoever waited for it, the earliest first.
    public func advance(by duration: Duration) {
        let awake = state.withLock { state in
            state.elapsed += max(.zero, duration)
            let awake = state.sleepers.filter { $0.due <= state.elapsed }.sorted { $0.due < $1.due }
            state.sleepers.removeAll { $0.due <= state.elapsed }
            return awake
        }
        for sleeper in awake { sleeper.continuation.resume() }
    }

    var elapsed: Duration { state.withLock { $0.elapsed } }

    /// Milliseconds since 1970, as the cloud counts.
    var milliseconds: Int64 { Int64((now.timeIntervalSince1970 * 1000).rounded()) }

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
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.elapsed >= due { return .success(()) }
                    state.sleepers.append(Sleeper(id: id, due: due, continuation: continuation))
                    return nil
                }
                if let outcome { return continuation.resume(with: outcome) }
                let watchers = state.withLock { state in
                    defer { state.watchers = [] }
                    return state.watchers
                }
                for watcher in watchers { watcher.resume() }
            }
        } onCancel: {
            let cancelled = state.withLock { state in
                state.sleepers.firstIndex { $0.id == id }.map { state.sleepers.remove(at: $0).continuation }
            }
            cancelled?.resume(throwing: CancellationError())
        }
    }

    var timekeeping: Timekeeping {
        Timekeeping(
            now: { self.elapsed }, sleep: { try await self.sleep($0) },
            // An operation's own patience is measured on the real clock, as the answers it waits for are.
            timeout: { try await ContinuousClock().sleep(for: $0) }, random: { 0.5 })
    }
}
