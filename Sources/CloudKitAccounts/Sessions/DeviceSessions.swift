import CloudKitModel
import CloudKitRecordLayer

/// The sessions of all accounts.
package struct DeviceSessions: Sendable {
    let store: AccountStore

    /// The store of the sessions.
    package var accounts: AccountStore { store }

    /// Returns the session with an id, or nil when it has ended.
    package func session(_ id: String) async throws -> DeviceSession? {
        try await store.read { try await $0.session(id) }
    }

    /// Returns the session of a device that shows its secret.
    ///
    /// - Throws: `RequestFailure` `authenticationFailed`.
    package func session(_ device: DeviceKey, now: Int64) async throws -> DeviceSession {
        try await store.read { try await $0.session(device, now: now) }
    }

    /// Returns a device's session and account.
    ///
    /// - Throws: `RequestFailure` `authenticationFailed`, `accountRestricted`.
    package func owner(of device: DeviceKey, now: Int64) async throws -> (session: DeviceSession, account: Account) {
        try await store.read { try await $0.owner(of: device, now: now) }
    }

    /// Returns the session and account of a request's sender.
    ///
    /// - Parameters:
    ///   - sender: A device, or a browser on a page of the cloud.
    ///   - now: Milliseconds since 1970.
    /// - Throws: `RequestFailure` `authenticationFailed`, `accountRestricted`.
    package func owner(of sender: AccountSender, now: Int64) async throws -> (session: DeviceSession, account: Account)
    {
        try await store.read { try await $0.owner(of: sender, now: now) }
    }

    /// Returns the sessions of an account, oldest first.
    package func sessions(of account: Account) async throws -> [DeviceSession] {
        try await sessions(ofAccount: account.id)
    }

    /// Returns the sessions of the account with an id, oldest first.
    package func sessions(ofAccount id: String) async throws -> [DeviceSession] {
        try await DeviceSession.table.rows(of: id, in: store).map(\.row).sorted { $0.created < $1.created }
    }

    /// Ends one session of an account, given its id or the first digits of it.
    ///
    /// - Returns: The ended session; empty when nothing matches, more than one when `text` is ambiguous, and then nothing is
    ///   ended.
    package func revoke(_ text: String, ofAccount id: String) async throws -> [DeviceSession] {
        let matches = try await sessions(ofAccount: id).filter { !text.isEmpty && $0.id.hasPrefix(text) }
        guard matches.count == 1 else { return matches }
        try await end(matches[0].id)
        return matches
    }

    /// Renames a session of an account, given its id or the first digits of it.
    ///
    /// - Parameter name: 1 to 100 characters.
    /// - Returns: The renamed session; empty when nothing matches, more than one when `text` is ambiguous, and then
    ///   nothing is renamed.
    /// - Throws: `RequestFailure` `badRequest` for a name that is empty or too long.
    package func rename(_ text: String, to name: String, ofAccount id: String) async throws -> [DeviceSession] {
        guard (1...DeviceSession.nameCharactersMax).contains(name.count) else {
            throw RequestFailure(.badRequest, "bad device name", remedy: "Use 1 to 100 characters.")
        }
        let matches = try await sessions(ofAccount: id).filter { !text.isEmpty && $0.id.hasPrefix(text) }
        guard matches.count == 1, let match = matches.first else { return matches }
        return try await store.write { transaction in
            let key = DeviceSession.key(match.id, of: id)
            guard var session = try await DeviceSession.table.row(key, in: transaction) else { return [] }
            session.name = name
            try DeviceSession.table.set(key, to: session, in: &transaction)
            return [session]
        }
    }

    /// Ends a session; nothing happens when it has ended.
    package func end(_ id: String) async throws {
        try await store.write { transaction in
            guard let owner = try await DeviceSession.owners.row(id, in: transaction) else { return }
            transaction.clearSession(id, of: owner)
            try transaction.noteDirectoryChange(.account(owner))
        }
    }

    /// Lets a session last at least until then: a browser that gets notifications while its page is closed stays in its owner's list
    /// of devices. The tokens of the session keep their own end.
    ///
    /// - Parameter id: Of the session; nothing happens when it has ended.
    package func keep(_ id: String, until expires: Int64) async throws {
        guard !id.isEmpty, let session = try await session(id) else { return }
        try await extend(id, of: session.account, from: session.expires, to: expires, lifetime: .persistent)
    }

    /// Moves the end of a session further away, when the difference justifies a write.
    ///
    /// - Parameters:
    ///   - id: Of the session.
    ///   - account: Its account's id.
    ///   - known: The end as it was read.
    func extend(
        _ id: String, of account: String, from known: Int64, to expires: Int64, lifetime: SessionLifetime
    ) async throws {
        guard expires - known > lifetime.milliseconds / 20 else { return }
        try await store.write { transaction in
            let key = DeviceSession.key(id, of: account)
            guard var current = try await DeviceSession.table.row(key, in: transaction), current.expires < expires
            else { return }
            current.expires = expires
            try DeviceSession.table.set(key, to: current, in: &transaction)
        }
    }
}

extension AccountStore {
    /// The sessions of all accounts.
    package var sessions: DeviceSessions { DeviceSessions(store: self) }
}
