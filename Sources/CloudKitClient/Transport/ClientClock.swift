import CloudKitDevice

/// Time and chance as the framework's rules see them; tests pass their own.
package struct ClientClock: Sendable {
    /// The time on a clock that only runs forward, from an arbitrary start.
    package var now: @Sendable () -> Duration
    /// Waits for the time that a caller asked for. Throws `CancellationError`.
    package var sleep: @Sendable (Duration) async throws -> Void
    /// Waits for the end of an operation's patience. Throws `CancellationError`.
    package var timeout: @Sendable (Duration) async throws -> Void
    /// A number from 0 to 1, 1 excluded.
    package var random: @Sendable () -> Double
    /// The time of day in milliseconds since 1970; it may be set.
    package var milliseconds: @Sendable () -> Int64

    /// - Parameter timeout: nil: as `sleep`.
    package init(
        now: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async throws -> Void,
        timeout: (@Sendable (Duration) async throws -> Void)? = nil, random: @escaping @Sendable () -> Double,
        milliseconds: @escaping @Sendable () -> Int64 = { DeviceProfile.now }
    ) {
        self.now = now
        self.sleep = sleep
        self.timeout = timeout ?? sleep
        self.random = random
        self.milliseconds = milliseconds
    }

    /// The machine's own clock and generator.
    package static let system: ClientClock = {
        let start = ContinuousClock.now
        return ClientClock(
            now: { ContinuousClock.now - start },
            sleep: { try await ContinuousClock().sleep(for: $0) },
            random: { Double.random(in: 0..<1) })
    }()
}

extension ClientClock {
    /// Runs a body that has to end by a time on this clock; nil: no limit.
    ///
    /// - Throws: `CallFailure.deadlineExceeded`, or the error of the body.
    func within<Value: Sendable>(
        _ deadline: Duration?, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let deadline else { return try await body() }
        let remaining = deadline - now()
        guard remaining > .zero else { throw CallFailure.deadlineExceeded }
        return try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask(operation: body)
            group.addTask {
                try await timeout(remaining)
                throw CallFailure.deadlineExceeded
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CallFailure.deadlineExceeded }
            return first
        }
    }
}
