import CloudKitModel

/// The space that an account may use in the private database of each container (B-LIM-16).
package enum AccountQuota: Hashable, Sendable {
    /// The quota that the cloud has for all accounts, if any.
    case cloud
    /// Bytes of records and assets, in place of the cloud's quota.
    case bytes(UInt64)
    /// No quota, even if the cloud has one.
    case unlimited

    /// Creates the quota of a text: bytes, `none` or `default`; nil for any other text.
    package init?(text: String) {
        switch text {
        case "none": self = .unlimited
        case "default": self = .cloud
        default:
            guard let bytes = UInt64(text) else { return nil }
            self = .bytes(bytes)
        }
    }

    /// Creates the quota of what an account's row holds: bytes, or that there is no limit.
    init(bytes: UInt64?, isUnlimited: Bool) { self = isUnlimited ? .unlimited : bytes.map { .bytes($0) } ?? .cloud }

    /// Bytes, `none` or `default`.
    package var text: String {
        switch self {
        case .cloud: "default"
        case .bytes(let bytes): String(bytes)
        case .unlimited: "none"
        }
    }

    /// Returns the bytes that apply; nil: no limit.
    ///
    /// - Parameter cloudBytes: The cloud's quota for all accounts; nil if it has none.
    package func bytes(cloud cloudBytes: UInt64?) -> UInt64? {
        switch self {
        case .cloud: cloudBytes
        case .bytes(let bytes): bytes
        case .unlimited: nil
        }
    }
}

extension AccountQuota {
    /// Returns this quota, or another one where this is the cloud's.
    func or(_ other: @autoclosure () -> AccountQuota) -> AccountQuota { self == .cloud ? other() : self }
}

extension Accounts {
    /// Sets the space that an account may use in the private database of one container, in place of the one that it has in each.
    ///
    /// - Throws: `AccountError.notFound`.
    package func setQuota(_ quota: AccountQuota, email: String, in container: ContainerID) async throws {
        try await change(email) { $0.setQuota(quota, in: container.name) }
    }

    /// Sets the space that each account may use in the private database of a container. Accounts with a space of their own keep it.
    package func setQuota(_ quota: AccountQuota, in container: ContainerID) async throws {
        try await store.write { transaction in
            if quota == .cloud {
                Account.quotasByContainer.clear(container.name, in: &transaction)
            } else {
                try Account.quotasByContainer.set(container.name, to: quota.text, in: &transaction)
            }
        }
    }

    /// Returns the space that each account may use in the private database of a container; `cloud`: none was set.
    package func quota(in container: ContainerID) async throws -> AccountQuota {
        try await Account.quotasByContainer.row(container.name, in: store).flatMap { AccountQuota(text: $0) } ?? .cloud
    }

    /// Sets the space that an account may use in the private database of each container.
    ///
    /// What is stored already stays, also beyond the quota.
    ///
    /// - Throws: `AccountError.notFound`.
    package func setQuota(_ quota: AccountQuota, email: String) async throws {
        try await change(email) { $0.quota = quota }
    }
}
