import CloudKitModel
import CloudKitRecordLayer
import Crypto

/// A device, or a browser, that its owner signed in.
package struct DeviceSession: StoredRow, Hashable {
    /// 32 hexadecimal digits.
    package var id: String
    /// The account's id.
    package var account: String
    /// The name that the owner sees in a list.
    package var name: String
    /// Milliseconds since 1970.
    package var created: Int64
    /// The end of the session, unless it is renewed; milliseconds since 1970.
    package var expires: Int64
    /// SHA-256 of the secret with which a device opens further containers; nil for a browser.
    var secretHash: [UInt8]?
    /// The generation of the account's keychain with which the device was signed in; nil for a browser that did not ask for the keys.
    var keychainGeneration: Int?
    /// The time at which a sign-in first found the session over; milliseconds since 1970, nil while it lasts.
    var foundOver: Int64?

    static let nameCharactersMax = 100
    /// The sessions of an account: with a further sign-in, those that would end first end.
    static let countMax = 1_000

    /// Decides what a sign-in does with the session: one that is over is refused, but deleted only after a further time, since the
    /// clock may be wrong.
    func expiry(at now: Int64) -> Expiry {
        guard expires < now else { return foundOver == nil ? .lasts : .lastsAgain }
        // Found over at a time that is still to come: by a clock that has been set back since.
        guard let foundOver, foundOver <= now else { return .justFoundOver }
        return now - foundOver >= (isBrowser ? Self.graceOfBrowser : Self.graceOfDevice) ? .delete : .over
    }

    /// The state of a session at a sign-in.
    enum Expiry: Hashable {
        case lasts
        /// It was found over by a wrong clock.
        case lastsAgain
        case justFoundOver
        case over
        case delete
    }

    private static let graceOfBrowser: Int64 = 86_400_000
    private static let graceOfDevice: Int64 = 30 * 86_400_000

    /// Returns whether a device's secret is this session's, and the session not over.
    func opens(with secret: [UInt8], now: Int64) -> Bool {
        guard let secretHash, now < expires else { return false }
        return isEqualInConstantTime(Array(SHA256.hash(data: secret)), secretHash)
    }

    /// Whether it is a browser's session, which cannot change the keychain.
    package var isBrowser: Bool { secretHash == nil }

    /// Whether it is the session of a browser that fetched the wrapped keys.
    var isBrowserWithKeys: Bool { isBrowser && keychainGeneration != nil }

    /// Returns whether the device's keys are those of an earlier keychain, which was reset since.
    package func isOutdated(for account: Account) -> Bool {
        keychainGeneration.map { $0 != account.keychainGeneration } ?? false
    }

    /// Returns whether the device or browser may have the account's keys.
    func mayHaveKeys(of account: Account) -> Bool { account.allowsWebKeys || !isBrowser }

    /// account, session → `DeviceSession`
    package static let table = RowTable<OwnedRowKey, DeviceSession>("session")
    /// session → account
    static let owners = RowTable<String, String>("session-owner")

    static func key(_ id: String, of account: String) -> OwnedRowKey { OwnedRowKey(owner: account, name: id) }
}

/// The proof that a request comes from a signed-in device.
package struct DeviceKey: Hashable, Sendable {
    /// The session's id.
    package var id: String
    /// The secret that the device got when it signed in.
    package var secret: [UInt8]

    /// Creates a key from the session's identifier and its secret.
    package init(id: String, secret: [UInt8]) {
        self.id = id
        self.secret = secret
    }
}

extension StorageView {
    /// Returns the session with an id, or nil when it has ended.
    func session(_ id: String) async throws -> DeviceSession? {
        guard let owner = try await DeviceSession.owners.row(id, in: self) else { return nil }
        return try await DeviceSession.table.row(DeviceSession.key(id, of: owner), in: self)
    }

    /// Returns the session of a device that shows its secret.
    ///
    /// - Throws: `RequestFailure` `authenticationFailed`.
    func session(_ device: DeviceKey, now: Int64) async throws -> DeviceSession {
        guard let session = try await session(device.id), session.opens(with: device.secret, now: now) else {
            throw RequestFailure.sessionEnded
        }
        return session
    }

    /// Returns a device's session and account.
    ///
    /// - Throws: `RequestFailure` `authenticationFailed`, `accountRestricted`.
    func owner(of device: DeviceKey, now: Int64) async throws -> (session: DeviceSession, account: Account) {
        let session = try await session(device, now: now)
        guard let account = try await Account.table.row(session.account, in: self) else {
            throw RequestFailure.sessionEnded
        }
        guard !account.isDisabled else { throw RequestFailure.accountDisabled }
        return (session, account)
    }
}

extension StorageWriter {
    /// Stores a session of an account.
    mutating func set(_ session: DeviceSession) throws {
        try DeviceSession.table.set(DeviceSession.key(session.id, of: session.account), to: session, in: &self)
    }

    /// Removes a session of an account.
    mutating func clearSession(_ id: String, of account: String) {
        DeviceSession.table.clear(DeviceSession.key(id, of: account), in: &self)
        DeviceSession.owners.clear(id, in: &self)
    }
}

extension RequestFailure {
    static let sessionEnded = RequestFailure(
        .authenticationFailed, "this device is not signed in", remedy: "Sign in again.")
}
