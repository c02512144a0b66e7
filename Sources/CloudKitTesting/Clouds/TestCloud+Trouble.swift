import CloudKit
import CloudKitModel
import CloudKitServer

// Trouble that a test orders at the cloud; what a device's network does is `TestNetwork`'s.
extension TestCloud {
    /// Lets the cloud refuse requests as too many (HTTP 429), whatever they ask for, files on their way included: apps see `serviceUnavailable` with `retryAfterSeconds`, and
    /// from their own device `requestRateLimited` until that time is over (B-THR-02, B-THR-03).
    ///
    /// - Parameters:
    ///   - user: Whose; nil: everybody's.
    ///   - container: Where.
    ///   - seconds: How long, on the test's clock.
    ///   - tellsWait: Whether refusals say how long to wait.
    public func throttle(
        _ user: TestUser? = nil, in container: String, for seconds: Double, tellsWait: Bool = true
    ) async throws {
        try await order(
            .fault(.throttle, for: user?.person, seconds: seconds, bytes: nil, tellsWait: tellsWait), in: container)
    }

    /// Lets the cloud answer `serviceUnavailable` (HTTP 503) to everybody, in every container, whatever they ask for. Signing in
    /// goes on, and so do notifications, which come by another service on other platforms.
    ///
    /// - Parameters:
    ///   - seconds: How long, on the test's clock.
    ///   - tellsWait: Whether refusals say how long to wait.
    public func takeDown(for seconds: Double, tellsWait: Bool = true) async throws {
        _ = try await running.cloud.faults.order(.unavailable, seconds: seconds, tellsWait: tellsWait)
    }

    /// Limits what a person's private database may hold (B-THR-01); a save beyond it fails with `quotaExceeded`.
    public func setQuota(bytes: UInt64, of user: TestUser, in container: String) async throws {
        try await order(
            .fault(.quota, for: user.person, seconds: nil, bytes: bytes, tellsWait: true), in: container)
    }

    /// Takes all ordered trouble back: throttles, outages, quotas.
    public func endTrouble() async throws { try await running.cloud.faults.removeAll() }

    /// Makes the change tokens of a zone too old: who uses one gets `changeTokenExpired` (B-CHG-09).
    public func expireChangeTokens(
        ofZone zoneName: String, of user: TestUser, in container: String
    ) async throws {
        try await order(.expireTokens(of: user.person, zone: zoneName), in: container)
    }

    /// Makes the change tokens of a person's private database too old.
    public func expireDatabaseChangeTokens(of user: TestUser, in container: String) async throws {
        try await order(.expireTokens(of: user.person, zone: nil), in: container)
    }

    /// Lets a zone forget its deletions, as time does: tokens from before the last one get `changeTokenExpired`.
    ///
    /// - Returns: How many there were.
    @discardableResult
    public func compact(zone zoneName: String, of user: TestUser, in container: String) async throws -> Int {
        try await order(.compactZone(zoneName, of: user.person), in: container).forgotten ?? 0
    }

    /// Removes a zone as people do in the system's settings: `userDeletedZone` (B-ZN-10).
    public func purge(zone zoneName: String, of user: TestUser, in container: String) async throws {
        try await order(.purgeZone(zoneName, of: user.person), in: container)
    }

    /// Lets a zone's encryption keys be lost: `zoneNotFound` with `CKErrorUserDidResetEncryptedDataKey` (B-ZN-12).
    public func loseKeys(ofZone zoneName: String, of user: TestUser, in container: String) async throws {
        try await order(.resetKeys(ofZone: zoneName, of: user.person), in: container)
    }

    /// Takes a person's keychain away, as if all devices and recovery words were lost: their devices get
    /// `accountTemporarilyUnavailable` until somebody signs in on them again, and zones with something encrypted answer as by
    /// `loseKeys(ofZone:of:in:)`.
    public func resetKeys(of user: TestUser) async throws {
        try await order(.resetKeychain(of: user.person), in: "iCloud.com.example.tests")
    }

    /// Switches an account off, or on again, as the cloud's operator does.
    public func setDisabled(_ isDisabled: Bool, _ user: TestUser) async throws {
        try await running.setDisabled(isDisabled, user.account)
    }

    @discardableResult
    private func order(_ order: FaultOrder, in container: String) async throws -> FaultOutcome {
        try await RunFaultOrder(running.cloud).run(order, in: ContainerID(container), .development)
    }
}

extension TestUser {
    fileprivate var person: FaultOrder.Person { .email(email) }
}
