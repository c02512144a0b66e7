/// The time, randomness and secret that the server's rules take from outside.
package struct ServerEnvironment: Sendable {
    /// Milliseconds since 1970.
    package var now: @Sendable () -> Int64
    /// The time since an arbitrary start, by a clock that is never set back.
    package var uptime: @Sendable () -> Duration
    /// Waits for a duration, where work pauses. Throws `CancellationError`.
    package var sleep: @Sendable (Duration) async throws -> Void
    /// Returns that many unpredictable bytes.
    package var random: @Sendable (Int) -> [UInt8]
    /// 32 bytes that only this cloud knows. They allow their holder to make any token.
    package var secret: [UInt8]

    /// - Parameters:
    ///   - secret: 32 bytes that only this cloud knows.
    ///   - now: The clock, milliseconds since 1970.
    package init(
        secret: [UInt8], now: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable (Int) -> [UInt8] = ServerEnvironment.systemRandom,
        uptime: @escaping @Sendable () -> Duration = ServerEnvironment.systemUptime,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.secret = secret
        self.now = now
        self.random = random
        self.uptime = uptime
        self.sleep = sleep
    }

    /// The time since this process first asked for it.
    package static let systemUptime: @Sendable () -> Duration = {
        let start = ContinuousClock.now
        return { ContinuousClock.now - start }
    }()

    /// Random bytes of the operating system.
    package static let systemRandom: @Sendable (Int) -> [UInt8] = { count in
        // A word at a time: each is a call of the system.
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 7)
        while bytes.count < count {
            withUnsafeBytes(of: generator.next() as UInt64) { bytes.append(contentsOf: $0) }
        }
        return Array(bytes.prefix(count))
    }

    /// Returns `count` random bytes in hexadecimal.
    package func randomHex(bytes count: Int) -> String { random(count).hex }

    /// Returns a random UUID, in capitals.
    package func randomUUID() -> String { UUIDText.text(random(16), version: 4) }
}
