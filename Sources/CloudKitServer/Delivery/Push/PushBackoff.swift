import CloudKitRecordLayer

/// Decides when a failed message is tried again, and when it is given up.
///
/// 2 seconds after the first failure, twice as long after each further one, up to an hour, varied by up to a fifth so
/// that messages that failed together are not repeated together; later if the service asks for it. An address that
/// fails for three days is removed.
struct PushBackoff: Hashable, Sendable {
    /// Milliseconds.
    static let firstPause: Int64 = 2_000
    static let pauseMax: Int64 = 3_600_000
    static let retryAfterMax: Int64 = 86_400_000
    static let timeLimit: Int64 = 3 * 86_400_000

    /// Returns the failures with this one added; nil: give up.
    ///
    /// - Parameters:
    ///   - requestedDelay: Seconds that the service asks for.
    ///   - chance: Any byte, random.
    static func failures(
        after earlier: PushFailures?, requestedDelay: Int64?, now: Int64, chance: UInt8
    ) -> PushFailures? {
        // A clock that was set back since does not make it more than three days.
        let since = min(earlier?.since ?? now, now)
        guard since + timeLimit > now else { return nil }
        let count = min((earlier?.count ?? 0) + 1, 1000)
        let doublings = min(Int64(count) - 1, 20)
        let pause = min(firstPause << doublings, pauseMax)
        let spread = pause / 5
        let varied = pause - spread + 2 * spread * Int64(chance) / 255
        let wished = min(max(requestedDelay ?? 0, 0), retryAfterMax / 1000) * 1000
        return PushFailures(since: since, count: count, again: now + max(varied, wished))
    }

    /// Returns whether the time of the next attempt is still to come.
    ///
    /// A first failure in the future, or a pause longer than the longest, was decided before the clock was set back: the message is
    /// tried at once, and nothing waits for longer than `retryAfterMax`.
    static func isPause(_ failures: PushFailures, now: Int64) -> Bool {
        failures.since <= now && failures.again > now && failures.again <= now + retryAfterMax
    }
}
