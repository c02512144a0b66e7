import CloudKitModel
import CloudKitRecordLayer
import Crypto

/// What a device needs to receive notifications.
package struct PushRegistration: Hashable, Sendable {
    /// 32 random bytes; the cloud keeps their hash.
    package var token: [UInt8]
    /// The last part of the courier's URL: whoever has it may read the device's notifications.
    package var courierPath: String
    /// From where on the device has not read.
    package var position: String
}

extension Cloud {
    /// Gives a device of the caller a token for the caller's notifications in one container.
    ///
    /// A device that comes back under the identifier it chose before goes on where it was; a new one hears of what happens
    /// from now on (web-services.md §12.1). A user has `pushTokensMax` of them: of more, the one longest unseen goes.
    ///
    /// - Parameters:
    ///   - clientID: At most 255 bytes; nil: a client that does not tell, and is new each time.
    ///   - service: `development` or `production`.
    ///   - sessionID: Of the caller; the courier's URL is good as long as the session.
    /// - Throws: `authenticationRequired` without a user; `badRequest`.
    package func createPushToken(
        clientID: String?, service: String, in container: ContainerID, _ environment: Environment, by caller: Caller,
        sessionID: String? = nil
    ) async throws -> PushRegistration {
        guard let user = caller.user else { throw RequestFailure.notSignedIn }
        let clientID = clientID ?? surroundings.randomUUID()
        guard clientID.utf8.count <= Validity.nameLengthMax, Environment(rawValue: service) != nil else {
            throw RequestFailure(
                .badRequest, "bad apnsEnvironment or clientId",
                remedy: "The first is development or production, the second at most 255 characters.")
        }
        let token = surroundings.random(32)
        let address = CourierAddress(
            container: container, environment: environment, user: user, hash: Array(SHA256.hash(data: token)),
            sessionID: sessionID ?? "")
        let made = PushToken(
            hash: address.hash, clientID: clientID, device: caller.deviceID, service: service,
            seen: surroundings.now(), position: 0)
        try await registry.enter(address.partition)
        let limits = limits
        let position = try await store.write(address.partition) { transaction in
            try await TokenWriting(limits: limits).add(made, &transaction)
        }
        return try registration(token, address, position)
    }

    /// Confirms a token that a device has kept; one that is gone meanwhile is replaced (web-services.md §12.1).
    package func registerPushToken(
        _ token: [UInt8], clientID: String?, service: String, in container: ContainerID, _ environment: Environment,
        by caller: Caller, sessionID: String? = nil
    ) async throws -> PushRegistration {
        guard let user = caller.user else { throw RequestFailure.notSignedIn }
        let address = CourierAddress(
            container: container, environment: environment, user: user, hash: Array(SHA256.hash(data: token)),
            sessionID: sessionID ?? "")
        let now = surroundings.now()
        let position: UInt64? = try await store.write(address.partition) { transaction in
            guard var held = try await transaction.pushToken(address.hash) else { return nil }
            held.seen = now
            transaction.set(held)
            return held.position
        }
        guard let position else {
            return try await createPushToken(
                clientID: clientID, service: service, in: container, environment, by: caller, sessionID: sessionID)
        }
        return try registration(token, address, position)
    }

    private func registration(
        _ token: [UInt8], _ address: CourierAddress, _ position: UInt64
    ) throws -> PushRegistration {
        PushRegistration(
            token: token, courierPath: try courierSeal.seal(address),
            position: CourierPosition.text(position, epoch: store.epoch))
    }

    var courierSeal: CourierAddressSeal { CourierAddressSeal(surroundings: surroundings) }
}

/// Adds a token and lets go of those that are replaced, expired or too many.
private struct TokenWriting: Sendable {
    let limits: Limits

    /// The position of the token.
    func add(_ token: PushToken, _ transaction: inout StorageWriter) async throws -> UInt64 {
        var header = try await transaction.notificationQueueHeader()
        var made = token
        made.position = header.sequence
        var kept: [PushToken] = []
        for held in try await transaction.pushTokens().sorted(by: { $0.seen > $1.seen }) {
            if held.clientID == token.clientID {
                made.position = held.position
                transaction.clear(held)
            } else if held.seen + limits.pushTokenLifetime <= token.seen || kept.count >= limits.pushTokensMax - 1 {
                transaction.clear(held)
            } else {
                kept.append(held)
            }
        }
        transaction.set(made)
        header.devices = (kept + [made]).map(\.device)
        transaction.set(header)
        return made.position
    }
}
