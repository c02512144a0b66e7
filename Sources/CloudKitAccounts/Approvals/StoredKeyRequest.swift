import CloudKitRecordLayer

/// A signed-in device's request that another device of the account gives it the keys, as the cloud keeps it for some minutes.
///
/// Every part that devices exchange is opaque here; `docs/encryption.md` specifies what they put into them.
package struct StoredKeyRequest: StoredRow, Hashable {
    /// The account.
    package var account: String
    /// The session of the device that asks.
    package var session: String
    /// Milliseconds since 1970.
    package var created: Int64
    /// Milliseconds since 1970.
    package var expires: Int64
    /// Of the keychain whose secret is asked for.
    var generation: Int
    /// The network address that sent the request.
    package var address: String
    /// Of the device that asks, to a key and a nonce.
    package var commitment: [UInt8]
    /// By the device that is about to approve.
    package var answer: Answer?
    /// What the commitment was for.
    package var reveal: Reveal?
    /// The account's secret, sealed to the device that asks; nil again once it was opened.
    package var sealed: [UInt8]?
    /// Shows the approving device that the secret was opened.
    package var receipt: [UInt8]?
    /// Whether a device of the account has refused the request.
    package var isRefused = false

    /// The answer of the device that is about to approve.
    package struct Answer: Codable, Hashable, Sendable {
        /// Its session.
        package var session: String
        /// Drawn after the commitment was there.
        package var nonce: [UInt8]
    }

    /// What the device that asks reveals after the answer.
    package struct Reveal: Codable, Hashable, Sendable {
        /// The key to which the secret is sealed.
        package var publicKey: [UInt8]
        /// What the commitment was made with.
        package var nonce: [UInt8]
    }

    /// account, session → `StoredKeyRequest`
    package static let table = RowTable<OwnedRowKey, StoredKeyRequest>("key-request")

    /// How far a request has come.
    package enum State: String, Hashable, Sendable {
        /// Nobody has answered.
        case waiting
        /// A device has answered, and waits for the key.
        case answered
        /// Both devices can show the code.
        case compared
        /// The secret is there for the device that asks.
        case approved
        /// The device that asks has the secret.
        case opened
        /// A device of the account has refused it.
        case refused
    }

    /// How far the request has come.
    package var state: State {
        if isRefused { return .refused }
        if receipt != nil { return .opened }
        if sealed != nil { return .approved }
        if reveal != nil { return .compared }
        return answer == nil ? .waiting : .answered
    }

    /// Whether a device may still do something about it.
    var isOpen: Bool { state != .refused && state != .opened }

    var rowKey: OwnedRowKey { OwnedRowKey(owner: account, name: session) }

    /// Milliseconds for which a request is kept.
    static let lifetime: Int64 = 10 * 60_000
    /// Open requests of an account at a time.
    static let countMax = 5
    static let partBytes = 32
    static let sealedBytesMax = 256
}

extension StorageView {
    /// Returns the requests of an account's signed-in devices for its present keys that have not expired, oldest first.
    func keyRequests(of account: Account, now: Int64) async throws -> [(
        request: StoredKeyRequest, session: DeviceSession
    )] {
        var found: [(request: StoredKeyRequest, session: DeviceSession)] = []
        for (name, row) in try await StoredKeyRequest.table.rows(of: account.id, in: self) {
            let key = DeviceSession.key(name, of: account.id)
            guard now < row.expires, row.generation == account.keychainGeneration,
                let session = try await DeviceSession.table.row(key, in: self), now < session.expires
            else { continue }
            found.append((row, session))
        }
        return found.sorted { $0.request.created < $1.request.created }
    }
}

extension StorageWriter {
    /// Stores a request.
    mutating func set(_ request: StoredKeyRequest) throws {
        try StoredKeyRequest.table.set(request.rowKey, to: request, in: &self)
    }

    /// Removes the requests of an account that are over, or all.
    mutating func clearKeyRequests(ofAccount id: String, before now: Int64 = .max) async throws {
        for (_, row) in try await StoredKeyRequest.table.rows(of: id, in: self) where row.expires <= now {
            StoredKeyRequest.table.clear(row.rowKey, in: &self)
        }
    }
}
