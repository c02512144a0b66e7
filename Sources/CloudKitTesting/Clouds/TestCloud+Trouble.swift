import CloudKit
import CloudKitModel
import CloudKitServer

// Trouble that a test orders at the cloud; what a device's network does is `TestNetwork`'s.
extension TestCloud {
    /// Lets the cloud refuse requests: apps see `serviceUnavailable` with `retryAfterSeconds`, and from their own device
    /// `requestRateLimited` until that time is over (B-THR-02, B-THR-03).
    ///
    /// - Parameters:
    ///   - user: Whose; nil: everybody's.
    ///   - container: Where the person is throttled.
    ///   - seconds: How long, on the test's clock.
    public func throttle(_ user: TestUser? = nil, in container: String, for seconds: Double) async throws {
        _ = try await running.cloud.faults.order(
            .throttle, in: ContainerID(container), for: try await name(of: user, in: container), seconds: seconds)
    }

    /// Lets the cloud answer `serviceUnavailable` to everybody.
    public func takeDown(for seconds: Double) async throws {
        _ = try await running.cloud.faults.order(.unavailable, seconds: seconds)
    }

    /// Limits what a person's private database may hold (B-THR-01); a save beyond it fails with `quotaExceeded`.
    public func setQuota(bytes: UInt64, of user: TestUser, in container: String) async throws {
        _ = try await running.cloud.faults.order(
            .quota, in: ContainerID(container), for: try await name(of: user, in: container), bytes: bytes)
    }

    /// Takes all ordered trouble back.
    public func endTrouble() async throws { try await running.cloud.faults.removeAll() }

    /// Makes the change tokens of a zone too old: who uses one gets `changeTokenExpired` (B-CHG-09).
    public func expireChangeTokens(
        ofZone zoneName: String, of user: TestUser, in container: String
    ) async throws {
        try await running.cloud.expireTokens(
            ofZone: zoneName, of: try await running.user(user.account, in: container), in: ContainerID(container),
            .development)
    }

    /// Makes the change tokens of a person's private database too old.
    public func expireDatabaseChangeTokens(of user: TestUser, in container: String) async throws {
        try await running.cloud.expireDatabaseTokens(
            of: try await running.user(user.account, in: container), in: ContainerID(container), .development)
    }

    /// Removes a zone as people do in the system's settings: `userDeletedZone` (B-ZN-10).
    public func purge(zone zoneName: String, of user: TestUser, in container: String) async throws {
        try await running.cloud.purgeZone(
            zoneName, of: try await running.user(user.account, in: container), in: ContainerID(container),
            .development)
    }

    /// Lets a zone's encryption keys be lost: `zoneNotFound` with `CKErrorUserDidResetEncryptedDataKey` (B-ZN-12).
    public func loseKeys(ofZone zoneName: String, of user: TestUser, in container: String) async throws {
        try await running.cloud.resetKeys(
            ofZone: zoneName, of: try await running.user(user.account, in: container), in: ContainerID(container),
            .development)
    }

    /// Switches an account off, or on again, as the cloud's operator does.
    public func setDisabled(_ isDisabled: Bool, _ user: TestUser) async throws {
        try await running.setDisabled(isDisabled, user.account)
    }

    private func name(of user: TestUser?, in container: String) async throws -> UserID? {
        guard let user else { return nil }
        return try await running.user(user.account, in: container)
    }
}
