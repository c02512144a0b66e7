import CloudKitModel
import CloudKitRecordLayer

/// The way of an account's keys from one of its signed-in devices to another that is signed in without them.
///
/// The cloud passes on what devices send, each part once and in one order; it can open none of it. What it could do by lying, the code that both
/// devices show makes visible.
package struct KeyRequests: Sendable {
    let store: AccountStore

    /// A request as devices of its account see it.
    package struct Listed: Hashable, Sendable {
        /// The request.
        package var request: StoredKeyRequest
        /// The device that asks.
        package var session: DeviceSession
        /// Whether it is the one that sends this request to the cloud.
        package var isCaller: Bool
        /// Of the account.
        package var identity: [UInt8]
    }

    /// Asks the account's devices for the keys, in place of an earlier request of the same device.
    ///
    /// - Parameters:
    ///   - commitment: 32 bytes.
    ///   - sender: The device, or a browser on a page of the cloud.
    ///   - address: The network address that sends the request.
    /// - Throws: `RequestFailure` `throttled` after a refusal, and where as many as may be wait already; `accessDenied` for a browser where the
    ///   account's owner lets none read encrypted data; `itemNotFound` without a keychain; `accountTemporarilyUnavailable` after a reset.
    package func create(
        commitment: [UInt8], by sender: AccountSender, address: String
    ) async throws -> StoredKeyRequest {
        try Self.check(commitment)
        let now = store.serverEnvironment.now()
        return try await store.write { transaction in
            let (session, account) = try await transaction.owner(of: sender, now: now)
            guard session.mayHaveKeys(of: account) else { throw RequestFailure.browsersWithoutKeys }
            guard !session.isOutdated(for: account) else { throw RequestFailure.keychainOutdated }
            _ = try await transaction.keychain(of: account, generation: account.keychainGeneration)
            try await transaction.clearKeyRequests(ofAccount: account.id, before: now)
            let held = try await transaction.keyRequests(of: account, now: now)
            if let own = held.first(where: { $0.session.id == session.id })?.request, own.isRefused {
                throw RequestFailure(
                    .throttled, "a device of the account has refused this one", remedy: "Ask again later.",
                    retryAfter: Double(own.expires - now) / 1000)
            }
            let others = held.filter { $0.session.id != session.id && $0.request.isOpen }
            if others.count >= StoredKeyRequest.countMax {
                throw RequestFailure(
                    .throttled, "too many devices of the account wait for approval",
                    remedy: "Refuse those that you do not know.",
                    retryAfter: Double((others.map(\.request.expires).min() ?? now) - now) / 1000)
            }
            let request = StoredKeyRequest(
                account: account.id, session: session.id, created: now, expires: now + StoredKeyRequest.lifetime,
                generation: account.keychainGeneration, address: address, commitment: commitment)
            try transaction.set(request)
            return request
        }
    }

    /// Returns the sender's own request, and the others of its account.
    ///
    /// - Parameter sender: A device of the account, or a browser on a page of the cloud.
    package func list(by sender: AccountSender) async throws -> [Listed] {
        let now = store.serverEnvironment.now()
        return try await store.read { view in
            let (session, account) = try await view.owner(of: sender, now: now)
            guard let keychain = try await Keychain.table.row(account.id, in: view) else { return [] }
            return try await view.keyRequests(of: account, now: now).map {
                Listed(
                    request: $0.request, session: $0.session, isCaller: $0.session.id == session.id,
                    identity: keychain.identity)
            }
        }
    }

    /// Answers another device's request with a nonce, before its key is known; the first answer counts.
    ///
    /// - Parameters:
    ///   - device: The session of the device that asks.
    ///   - nonce: 32 bytes.
    ///   - sender: A device of the account with its keys, or such a browser on a page of the cloud.
    /// - Throws: `RequestFailure` `itemNotFound`, `conflict`, `accountTemporarilyUnavailable`; `accessDenied` for a browser that asks where the
    ///   account's owner lets none read encrypted data.
    package func answer(_ device: String, nonce: [UInt8], by sender: AccountSender) async throws {
        try Self.check(nonce)
        try await change(device, by: sender) { transaction, request, caller, account in
            guard caller.id != request.session, caller.keychainGeneration == account.keychainGeneration else {
                throw RequestFailure(
                    .badRequest, "this device has no keys to give", remedy: "Approve on a device that has them.")
            }
            _ = try await Self.asker(of: request, account: account, in: transaction)
            guard request.state == .waiting else { throw Self.used }
            request.answer = StoredKeyRequest.Answer(session: caller.id, nonce: nonce)
        }
    }

    /// Reveals what the commitment was for.
    ///
    /// - Parameters:
    ///   - publicKey: 32 bytes.
    ///   - nonce: 32 bytes.
    ///   - sender: The device that asks.
    /// - Throws: `RequestFailure` `itemNotFound`, `conflict`.
    package func reveal(publicKey: [UInt8], nonce: [UInt8], by sender: AccountSender) async throws {
        try Self.check(publicKey)
        try Self.check(nonce)
        try await change(nil, by: sender) { _, request, _, _ in
            guard request.state == .answered else { throw Self.used }
            request.reveal = StoredKeyRequest.Reveal(publicKey: publicKey, nonce: nonce)
        }
    }

    /// Gives the device that asks the account's secret, sealed to its key.
    ///
    /// - Parameters:
    ///   - device: The session of the device that asks.
    ///   - sealed: At most 256 bytes.
    ///   - sender: The device that answered.
    /// - Throws: `RequestFailure` `itemNotFound`, `conflict`, `accessDenied` for another device than the one that answered, and for a browser that
    ///   asks where the account's owner lets none read encrypted data.
    package func approve(_ device: String, sealed: [UInt8], by sender: AccountSender) async throws {
        guard (1...StoredKeyRequest.sealedBytesMax).contains(sealed.count) else { throw Self.malformed }
        try await change(device, by: sender) { transaction, request, caller, account in
            guard let answer = request.answer, request.state == .compared else { throw Self.used }
            guard answer.session == caller.id else {
                throw RequestFailure(.accessDenied, "another device of the account has answered this request")
            }
            var session = try await Self.asker(of: request, account: account, in: transaction)
            request.sealed = sealed
            // From now on it counts among the devices and browsers that have the keys.
            session.keychainGeneration = account.keychainGeneration
            try transaction.set(session)
        }
    }

    /// Refuses a request: its device cannot ask again until the request would have expired. A device that refuses its own takes it back.
    ///
    /// - Parameters:
    ///   - device: The session of the device that asks.
    ///   - sender: A device of the account, or a browser on a page of the cloud.
    /// - Throws: `RequestFailure` `itemNotFound`; `conflict` for one that was approved.
    package func refuse(_ device: String, by sender: AccountSender) async throws {
        let now = store.serverEnvironment.now()
        try await store.write { transaction in
            var (request, caller, _) = try await Self.find(device, by: sender, now: now, in: transaction)
            guard request.state != .approved, request.isOpen else { throw Self.used }
            if caller.id == device {
                StoredKeyRequest.table.clear(request.rowKey, in: &transaction)
            } else {
                request.isRefused = true
                try transaction.set(request)
            }
        }
    }

    /// Ends a request whose secret the device has opened.
    ///
    /// - Parameters:
    ///   - receipt: 32 bytes, for the approving device.
    ///   - sender: The device that asks.
    /// - Throws: `RequestFailure` `itemNotFound`, `conflict`.
    package func finish(receipt: [UInt8], by sender: AccountSender) async throws {
        try Self.check(receipt)
        try await change(nil, by: sender) { _, request, _, _ in
            guard request.state == .approved else { throw Self.used }
            request.sealed = nil
            request.receipt = receipt
        }
    }

    /// Changes a request.
    ///
    /// - Parameter device: The session of the device that asks; nil: the sender.
    private func change(
        _ device: String?, by sender: AccountSender,
        _ body: @Sendable (inout StorageWriter, inout StoredKeyRequest, DeviceSession, Account) async throws -> Void
    ) async throws {
        let now = store.serverEnvironment.now()
        try await store.write { transaction in
            var (request, caller, account) = try await Self.find(device, by: sender, now: now, in: transaction)
            guard !request.isRefused else {
                throw RequestFailure(.accessDenied, "a device of the account has refused this request")
            }
            try await body(&transaction, &request, caller, account)
            try transaction.set(request)
        }
    }

    /// Returns the device that asks, if it may have keys: the account's owner may have forbidden them to browsers since it asked.
    private static func asker(
        of request: StoredKeyRequest, account: Account, in view: StorageWriter
    ) async throws -> DeviceSession {
        let key = DeviceSession.key(request.session, of: account.id)
        guard let session = try await DeviceSession.table.row(key, in: view) else { throw missing }
        guard session.mayHaveKeys(of: account) else { throw RequestFailure.browsersWithoutKeys }
        return session
    }

    /// Returns a request with its sender's session and account.
    ///
    /// - Parameter device: The session of the device that asks; nil: the sender.
    private static func find(
        _ device: String?, by sender: AccountSender, now: Int64, in view: StorageWriter
    ) async throws -> (request: StoredKeyRequest, caller: DeviceSession, account: Account) {
        let (caller, account) = try await view.owner(of: sender, now: now)
        let requests = try await view.keyRequests(of: account, now: now)
        guard let request = requests.first(where: { $0.session.id == device ?? caller.id })?.request else {
            throw missing
        }
        return (request, caller, account)
    }

    private static func check(_ part: [UInt8]) throws(RequestFailure) {
        guard part.count == StoredKeyRequest.partBytes else { throw malformed }
    }

    private static let malformed = RequestFailure(
        .badRequest, "a part of the exchange has another length", remedy: "Keys, nonces and commitments have 32 bytes.")
    private static let missing = RequestFailure(
        .itemNotFound, "there is no such request, or it has expired", remedy: "Ask again on the new device.")
    private static let used = RequestFailure(
        .conflict, "this step of the request was done already, or comes too early",
        remedy: "Ask again on the new device.")
}

extension AccountStore {
    /// The requests of signed-in devices for the keys of their accounts.
    package var keyRequests: KeyRequests { KeyRequests(store: self) }
}
