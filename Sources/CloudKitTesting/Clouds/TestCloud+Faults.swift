import CloudKit
import CloudKitClient
import CloudKitModel
import CloudKitServer

// Faults that a test injects into the cloud; `TestNetwork` injects those of a device's network.
extension TestCloud {
    /// Makes the cloud refuse all requests with HTTP 429, transfers of files included: apps get `serviceUnavailable` with
    /// `retryAfterSeconds`, and `requestRateLimited` from their own device until that time is over (B-THR-02, B-THR-03).
    ///
    /// - Parameters:
    ///   - user: The user whose requests are refused; nil for all users.
    ///   - container: The container whose requests are refused.
    ///   - seconds: The duration on the test's clock.
    ///   - sendsRetryAfter: Whether refusals include `Retry-After`.
    public func throttle(
        _ user: TestUser? = nil, in container: String, for seconds: Double, sendsRetryAfter: Bool = true
    ) async throws {
        try await order(
            .fault(.throttle, for: user?.person, seconds: seconds, bytes: nil, sendsRetryAfter: sendsRetryAfter),
            in: container)
    }

    /// Makes the cloud refuse all requests of all users and containers with `serviceUnavailable` (HTTP 503). Signing in and
    /// notifications still work; on other platforms a separate service delivers notifications.
    ///
    /// - Parameters:
    ///   - seconds: The duration on the test's clock.
    ///   - sendsRetryAfter: Whether refusals include `Retry-After`.
    public func takeDown(for seconds: Double, sendsRetryAfter: Bool = true) async throws {
        _ = try await running.cloud.faults.order(.unavailable, seconds: seconds, sendsRetryAfter: sendsRetryAfter)
    }

    /// Refuses the requests of a user as the administration of a managed account does: apps get `managedAccountRestricted`
    /// (B-ACC-08) until ``removeFaults()``.
    public func restrictManagedAccount(of user: TestUser, in container: String) async throws {
        try await order(
            .fault(.managedAccountRestricted, for: user.person, seconds: nil, bytes: nil, sendsRetryAfter: false),
            in: container)
    }

    /// Limits the size of a user's private database (B-THR-01); a save beyond it fails with `quotaExceeded`.
    public func setQuota(bytes: UInt64, of user: TestUser, in container: String) async throws {
        try await order(
            .fault(.quota, for: user.person, seconds: nil, bytes: bytes, sendsRetryAfter: true), in: container)
    }

    /// Removes all injected faults: throttles, outages, quotas. Devices do not wait any longer for the end of a throttle
    /// (B-THR-03).
    public func removeFaults() async throws {
        let running = running
        try await running.cloud.faults.removeAll()
        RetryGate.openAll(endpoint: running.devicesEndpoint)
    }

    /// Expires the change tokens of a zone: fetches with them fail with `changeTokenExpired` (B-CHG-09).
    public func expireChangeTokens(
        ofZone zoneName: String, of user: TestUser, in container: String
    ) async throws {
        try await order(.expireTokens(of: user.person, zone: zoneName), in: container)
    }

    /// Expires the change tokens of a user's private database.
    public func expireDatabaseChangeTokens(of user: TestUser, in container: String) async throws {
        try await order(.expireTokens(of: user.person, zone: nil), in: container)
    }

    /// Removes the deletions from a zone's history, as happens over time: change tokens from before the last one expire.
    ///
    /// - Returns: The number of removed deletions.
    @discardableResult
    public func compact(zone zoneName: String, of user: TestUser, in container: String) async throws -> Int {
        try await order(.compactZone(zoneName, of: user.person), in: container).forgotten ?? 0
    }

    /// Removes a zone as a user does in the system's settings: apps get `userDeletedZone` (B-ZN-10).
    public func purge(zone zoneName: String, of user: TestUser, in container: String) async throws {
        try await order(.purgeZone(zoneName, of: user.person), in: container)
    }

    /// Resets a zone's encryption keys: apps get `zoneNotFound` with `CKErrorUserDidResetEncryptedDataKey` (B-ZN-12).
    public func loseKeys(ofZone zoneName: String, of user: TestUser, in container: String) async throws {
        try await order(.resetKeys(ofZone: zoneName, of: user.person), in: container)
    }

    /// Removes a user's keychain, as if all devices and recovery words were lost: the user's devices get
    /// `accountTemporarilyUnavailable` until the next sign-in, and zones with encrypted data answer as after
    /// `loseKeys(ofZone:of:in:)`.
    public func resetKeys(of user: TestUser) async throws {
        try await order(.resetKeychain(of: user.person), in: "iCloud.com.example.tests")
    }

    /// Disables or enables an account, as the cloud's operator does.
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
