import CloudKit
import CloudKitClient

// For tests of the framework itself, in which time advances automatically to the next wake-up.
extension TestClock {
    /// Waits until a task sleeps on this clock.
    ///
    /// - Returns: The shortest remaining sleep.
    /// - Throws: `CancellationError`.
    @discardableResult
    package func nextSleep() async throws -> Duration { try await value { $0.shortestSleep } }

    /// Advances the clock to each next wake-up until the body has ended. The clock is paused while a request of
    /// `pausing` is in flight.
    package func running<Value: Sendable>(
        while body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                while true { self.advance(by: try await self.value { $0.requests == 0 ? $0.shortestSleep : nil }) }
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() ?? nil else { throw CancellationError() }
            return value
        }
    }

    /// Returns a transport whose requests stop a running clock.
    ///
    /// Except long polls, since one of them is always in flight and time would never advance. No transport between this one and
    /// the cloud may sleep on this clock, because it would not wake.
    package func pausing(over real: any Transport) -> any Transport { PausingTransport(clock: self, real: real) }

    private struct PausingTransport: Transport {
        let clock: TestClock
        let real: any Transport

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            guard !request.isLongPoll else { return try await real.send(request) }
            clock.change { $0.requests += 1 }
            defer { clock.change { $0.requests -= 1 } }
            return try await real.send(request)
        }
    }
}

extension TestClock.State {
    /// The shortest remaining sleep; nil if no task sleeps.
    fileprivate var shortestSleep: Duration? { sleepers.values.map { $0.due - elapsed }.min() }
}
