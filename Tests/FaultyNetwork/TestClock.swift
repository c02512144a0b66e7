import CloudKit
import Synchronization

/// A clock that stands still until its test moves it. Who sleeps wakes when the time has come, or when cancelled.
package final class TestClock: Sendable {
    private struct Sleeper {
        var due: Duration
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct Content {
        var now = Duration.zero
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var next = 0
        var watchers: [AsyncStream<Void>.Continuation] = []

        mutating func watch() -> AsyncStream<Void> {
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
            watchers.append(continuation)
            return stream
        }
    }

    private let content = Mutex(Content())
    private let random: @Sendable () -> Double

    /// - Parameter random: From 0 to 1; a half unless a test says otherwise.
    package init(random: @escaping @Sendable () -> Double = { 0.5 }) { self.random = random }

    package var now: Duration { content.withLock { $0.now } }

    /// Moves the clock and wakes everyone whose time has come.
    package func advance(by duration: Duration) {
        let due = content.withLock { content -> [CheckedContinuation<Void, any Error>] in
            content.now += duration
            let awake = content.sleepers.filter { $0.value.due <= content.now }
            for id in awake.keys { content.sleepers[id] = nil }
            return awake.sorted { ($0.value.due, $0.key) < ($1.value.due, $1.key) }.map(\.value.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    /// Waits until someone sleeps, so that moving the clock has an effect.
    ///
    /// - Returns: How long the one who wakes first will sleep.
    /// - Throws: `CancellationError`.
    package func nextSleep() async throws -> Duration {
        while true {
            try Task.checkCancellation()
            let (first, changes) = content.withLock { content in
                (content.sleepers.values.map { $0.due - content.now }.min(), content.watch())
            }
            if let first { return first }
            for await _ in changes { break }
        }
    }

    /// Lets time pass as fast as everybody sleeps, until the body has ended.
    package func running<Value: Sendable>(
        while body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                while true { self.advance(by: try await self.nextSleep()) }
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() ?? nil else { throw CancellationError() }
            return value
        }
    }

    package var timekeeping: Timekeeping {
        Timekeeping(now: { self.now }, sleep: { try await self.sleep($0) }, random: random)
    }

    private func sleep(_ duration: Duration) async throws {
        let id = content.withLock { content in
            content.next += 1
            return content.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (isOver, watchers) = content.withLock { content in
                    let isOver = content.cancelled.remove(id) != nil
                    if !isOver, duration > .zero {
                        content.sleepers[id] = Sleeper(due: content.now + duration, continuation: continuation)
                    }
                    let watchers = content.watchers
                    content.watchers = []
                    return (isOver, watchers)
                }
                if isOver { continuation.resume(throwing: CancellationError()) }
                if !isOver, duration <= .zero { continuation.resume() }
                for watcher in watchers { watcher.finish() }
            }
        } onCancel: {
            let sleeper = content.withLock { content in
                let sleeper = content.sleepers.removeValue(forKey: id)
                if sleeper == nil { content.cancelled.insert(id) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
