// Names from before the first release, kept so that tests of apps still compile.
extension TestCloud {
    /// Makes the cloud refuse all requests with HTTP 429, as `throttle(_:in:for:sendsRetryAfter:)` does.
    ///
    /// - Parameters:
    ///   - user: The user whose requests are refused; nil for all users.
    ///   - container: The container whose requests are refused.
    ///   - seconds: The duration on the test's clock.
    ///   - tellsWait: Whether refusals include `Retry-After`.
    @available(*, deprecated, renamed: "throttle(_:in:for:sendsRetryAfter:)")
    public func throttle(
        _ user: TestUser? = nil, in container: String, for seconds: Double, tellsWait: Bool
    ) async throws {
        try await throttle(user, in: container, for: seconds, sendsRetryAfter: tellsWait)
    }

    /// Makes the cloud refuse all requests with HTTP 503, as `takeDown(for:sendsRetryAfter:)` does.
    ///
    /// - Parameters:
    ///   - seconds: The duration on the test's clock.
    ///   - tellsWait: Whether refusals include `Retry-After`.
    @available(*, deprecated, renamed: "takeDown(for:sendsRetryAfter:)")
    public func takeDown(for seconds: Double, tellsWait: Bool) async throws {
        try await takeDown(for: seconds, sendsRetryAfter: tellsWait)
    }

    /// Removes all injected faults, as `removeFaults()` does.
    @available(*, deprecated, renamed: "removeFaults()")
    public func endTrouble() async throws { try await removeFaults() }
}
