import CloudKitModel
import CloudKitRecordLayer

/// A fault that an operator orders, so that a developer can test an app's reaction. Development environments only.
package struct Fault: StoredRow, Hashable {
    /// The kind of the fault.
    package enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        /// Requests are refused as too many: HTTP 429 (B-THR-02).
        case throttle
        /// Requests are refused as if the service were down: HTTP 503.
        case unavailable
        /// The user's private database may hold `bytes` (B-THR-01).
        case quota
        /// Requests of a user are refused as if the administration of the account excluded it: HTTP 403 (B-ACC-08).
        case managedAccountRestricted
    }

    /// 16 hexadecimal digits.
    package var id: String
    /// The kind of the fault.
    package var kind: Kind
    /// nil: in every container.
    package var container: String?
    /// The user's record name; nil: for all users.
    package var user: String?
    /// Milliseconds since 1970; nil: until it is removed.
    package var until: Int64?
    /// Of a quota.
    package var bytes: UInt64?
    private var isSilent: Bool?

    /// The faults by id, in the partition of accounts.
    package static let table = RowTable<String, Fault>("fault")

    /// A flag for refusals with a waiting time (`retryAfter`).
    package var sendsRetryAfter: Bool { isSilent != true }

    /// Creates a fault; the restrictions that are nil do not apply.
    package init(
        id: String, kind: Kind, container: String? = nil, user: String? = nil, until: Int64? = nil,
        bytes: UInt64? = nil, sendsRetryAfter: Bool = true
    ) {
        self.id = id
        self.kind = kind
        self.container = container
        self.user = user
        self.until = until
        self.bytes = bytes
        isSilent = sendsRetryAfter ? nil : true
    }

    /// Returns whether it affects this user there and then.
    package func affects(_ user: UserID?, in container: ContainerID, at now: Int64) -> Bool {
        if let until, until <= now { return false }
        if let named = self.container, named != container.name { return false }
        guard let named = self.user else { return true }
        return named == user?.recordName
    }

    /// Returns the failure of an affected request; nil if it continues.
    package func refusal(at now: Int64) -> RequestFailure? {
        let wait = sendsRetryAfter ? until.map { Double($0 - now) / 1000 } ?? Self.waitDefault : nil
        switch kind {
        case .throttle:
            return RequestFailure(.throttled, "request rate limited by the operator", retryAfter: wait)
        case .unavailable:
            return RequestFailure(.tryAgainLater, "service made unavailable by the operator", retryAfter: wait)
        case .managedAccountRestricted:
            return RequestFailure(
                .managedAccountRestricted, "the account's administration does not allow this service",
                remedy: "Ask the administrator of the account.")
        case .quota: return nil
        }
    }

    /// Seconds for which a fault without an end makes clients wait.
    private static let waitDefault = 30.0
}
