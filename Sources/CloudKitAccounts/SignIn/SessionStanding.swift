import CloudKitRecordLayer
import JSONBytes

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
    /// The generation of the account's keys that the device or browser was given; nil: a browser without keys.
    var keychainGeneration: Int?

    /// Whether the session can be used.
    func isCurrent(at now: Int64) -> Bool { now < expires && !isDisabled && keychain != .outdated }

    /// The part of a `DeviceSession`.
    fileprivate struct SessionPart: RowPart {
        var account: String
        var expires: Int64
        var keychainGeneration: Int?

        init(rowBytes bytes: [UInt8]) throws {
            var (account, expires, generation): (String?, Int64?, Int64?)
            try Self.readProperties(of: bytes) { name, json in
                switch name {
                case "account": account = try json.string()
                case "expires": expires = try json.int64()
                case "keychainGeneration": generation = try json.int64()
                default: try json.skipValue()
                }
            }
            self.account = try Self.required(account, "account")
            self.expires = try Self.required(expires, "expires")
            keychainGeneration = generation.map { Int($0) }
        }
    }

    /// The part of an `Account`, by the names under which it is stored.
    fileprivate struct AccountPart: RowPart {
        var isDisabled: Bool
        var keychains: Int
        var isResetting: Bool

        init(rowBytes bytes: [UInt8]) throws {
            var (isDisabled, keychains, isResetting): (Bool?, Int64?, Bool?)
            try Self.readProperties(of: bytes) { name, json in
                switch name {
                case "isDisabled": isDisabled = try json.bool()
                case "keychains": keychains = try json.int64()
                case "resetting": isResetting = try json.bool()
                default: try json.skipValue()
                }
            }
            self.isDisabled = try Self.required(isDisabled, "isDisabled")
            self.keychains = keychains.map { Int($0) } ?? 0
            self.isResetting = isResetting ?? false
        }
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
            let session = try await DeviceSession.table.part(
                SessionStanding.SessionPart.self, of: DeviceSession.key(id, of: owner), in: self),
            let account = try await Account.table.part(
                SessionStanding.AccountPart.self, of: session.account, in: self)
        else { return nil }
        let isOutdated = session.keychainGeneration.map { $0 != account.keychains } ?? false
        return SessionStanding(
            id: id, account: session.account, expires: session.expires, isDisabled: account.isDisabled,
            keychain: isOutdated ? .outdated : account.isResetting ? .resetting : .current,
            keychainGeneration: session.keychainGeneration)
    }
}
