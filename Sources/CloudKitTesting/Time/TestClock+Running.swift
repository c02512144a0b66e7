import CloudKit
import CloudKitClient

// For tests of the framework itself, which let time pass by itself as fast as everybody sleeps.
extension TestClock {
    /// Waits until someone sleeps, so that moving the clock has an effect.
    ///
    /// - Returns: How long the one who wakes first will sleep.
    /// - Throws: `CancellationError`.
    @discardableResult
    package func nextSleep() async throws -> Duration { try await value { $0.shortestSleep } }

    /// Lets time pass as fast as everybody sleeps, until the body has ended. While a request of `standing` is under way the
    /// clock stands still: how long that takes is the machine's matter.
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

    /// A way to the cloud whose requests let a running clock stand still.
    ///
    /// Not those that wait for notifications: one of these is always under way, and time would never pass. Nothing between
    /// this and the cloud may sleep on this clock, for it would not wake.
    package func standing(over real: any Transport) -> any Transport { StandingTransport(clock: self, real: real) }

    private struct StandingTransport: Transport {
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
    /// How long the one who wakes first will sleep; nil: nobody does.
    fileprivate var shortestSleep: Duration? { sleepers.values.map { $0.due - elapsed }.min() }
}
