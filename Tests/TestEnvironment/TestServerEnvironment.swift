import CloudKitAccounts
import SeededChance
import Synchronization

/// A clock that is set by hand, and randomness from a seed.
package final class TestServerEnvironment: Sendable {
    /// Waits that long.
    package typealias Sleep = @Sendable (Duration) async throws -> Void

    private let state = Mutex((now: Int64(1_700_000_000_000), chance: SplitMix64(seed: 1)))
    private let sleeping = Mutex<Sleep> { try await Task.sleep(for: $0) }

    package init() {}

    /// Moves the clock forward.
    package func advance(_ milliseconds: Int64) { state.withLock { $0.now += milliseconds } }

    /// Milliseconds since 1970.
    package var now: Int64 { state.withLock(\.now) }

    /// Replaces the pauses of the cloud's own work from now on.
    package func sleep(_ body: @escaping Sleep) { sleeping.withLock { $0 = body } }

    /// The environment with this clock, this randomness and the secret of 32 bytes 7.
    package var serverEnvironment: ServerEnvironment {
        ServerEnvironment(
            secret: Array(repeating: 7, count: 32), now: { self.now },
            random: { count in
                self.state.withLock { state in
                    (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &state.chance) }
                }
            }, uptime: { .milliseconds(self.now) }, sleep: { try await self.sleeping.withLock { $0 }($0) })
    }
}
