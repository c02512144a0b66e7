import CloudKitRecordLayer

/// What of a session and its account decides about a request: a small part of both, since every device asks for it.
struct SessionStanding: Hashable, Sendable {
    /// The id of the session.
    var id: String
    /// The account's id.
    var account: String
    /// The end of the session, unless it is renewed; milliseconds since 1970.
    var expires: Int64
    var isDisabled: Bool
    var keychain: KeychainStatus

    /// Whether the session can be used.
    func isCurrent(at now: Int64) -> Bool { now < expires && !isDisabled && keychain != .outdated }

    /// The part of a `DeviceSession`.
    fileprivate struct SessionPart: StoredRow {
        var account: String
        var expires: Int64
        var keychainGeneration: Int?

        static let table = RowTable<OwnedRowKey, SessionPart>(DeviceSession.table.name)
    }

    /// The part of an `Account`, by the names under which it is stored.
    fileprivate struct AccountPart: StoredRow {
        var isDisabled: Bool
        var keychains: Int?
        var resetting: Bool?

        static let table = RowTable<String, AccountPart>(Account.table.name)
    }
}

extension DeviceSessions {
    /// Returns the standing of a session; nil when it has ended.
    func standing(_ id: String) async throws -> SessionStanding? {
        try await store.read { try await $0.standing(ofSession: id) }
    }
}

extension StorageView {
    /// Returns the standing of a session; nil when it has ended, or its account is gone.
    fileprivate func standing(ofSession id: String) async throws -> SessionStanding? {
        guard let owner = try await DeviceSession.owners.row(id, in: self),
            let session = try await SessionStanding.SessionPart.table.row(DeviceSession.key(id, of: owner), in: self),
            let account = try await SessionStanding.AccountPart.table.row(session.account, in: self)
        else { return nil }
        let isOutdated = session.keychainGeneration.map { $0 != account.keychains ?? 0 } ?? false
        return SessionStanding(
            id: id, account: session.account, expires: session.expires, isDisabled: account.isDisabled,
            keychain: isOutdated ? .outdated : account.resetting == true ? .resetting : .current)
    }
}
