import CloudKitModel
import CloudKitRecordLayer
import Crypto

/// The values that a device needs to receive notifications.
package struct PushRegistration: Hashable, Sendable {
    /// 32 random bytes; the cloud keeps their hash.
    package var token: [UInt8]
    /// The last part of the long-poll URL: any holder may read the device's notifications; nil where a push service sends
    /// them.
    package var longPollPath: String?
    /// From where on the device has not read.
    package var position: String
}

/// The tokens under which devices receive notifications.
package struct PushTokens: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Issues a token for the caller's notifications in one container to a device of the caller.
    ///
    /// A device that returns under the identifier it chose before continues at its position; a new one receives
    /// notifications of later changes (docs/web-services.md §12.1). A user has at most `pushTokensMax` of them: beyond
    /// that, the one unseen for the longest time is removed. The same holds for those that a push service sends to,
    /// `pushAddressesMax` of them; an address is registered once, for the user who registered it last.
    ///
    /// - Parameters:
    ///   - clientID: At most 255 bytes; nil: the client is new each time.
    ///   - service: `development` or `production`.
    ///   - sessionID: The caller's session; the long-poll URL is valid as long as the session, and so is an address.
    ///   - push: The push service that sends the notifications; nil: the device asks for them.
    /// - Throws: `authenticationRequired` without a user; `badRequest`.
    package func create(
        clientID: String?, service: String, in container: ContainerID, _ environment: Environment, by caller: Caller,
        sessionID: String? = nil, push: PushOrder? = nil
    ) async throws -> PushRegistration {
        guard let user = caller.user else { throw RequestFailure.notSignedIn }
        let clientID = clientID ?? cloud.serverEnvironment.randomUUID()
        guard clientID.utf8.count <= Validity.nameLengthMax, Environment(rawValue: service) != nil else {
            throw RequestFailure(
                .badRequest, "bad apnsEnvironment or clientId",
                remedy: "The first is development or production, the second at most 255 characters.")
        }
        let token = cloud.serverEnvironment.random(32)
        let address = LongPollAddress(
            container: container, environment: environment, user: user, hash: Array(SHA256.hash(data: token)),
            sessionID: sessionID ?? "")
        let made = PushToken(
            hash: address.hash, clientID: clientID, device: caller.deviceID, service: service,
            seen: cloud.serverEnvironment.now(), position: 0, destination: try await destination(push, address))
        try await cloud.registry.enter(address.partition)
        let position = try await cloud.store.write(address.partition) { transaction in
            try await transaction.databaseHeader().checkIsOpen()
            return try await PushTokenWriter(limits: cloud.limits).add(made, &transaction)
        }
        return try registration(token, address: address, position: position, isPushed: made.destination != nil)
    }

    /// Confirms a token that a device has kept; one that is gone meanwhile is replaced (docs/web-services.md §12.1).
    ///
    /// - Parameter push: Another address, or the same; nil: it stays as it was.
    package func register(
        _ token: [UInt8], clientID: String?, service: String, in container: ContainerID, _ environment: Environment,
        by caller: Caller, sessionID: String? = nil, push: PushOrder? = nil
    ) async throws -> PushRegistration {
        guard let user = caller.user else { throw RequestFailure.notSignedIn }
        let address = LongPollAddress(
            container: container, environment: environment, user: user, hash: Array(SHA256.hash(data: token)),
            sessionID: sessionID ?? "")
        let now = cloud.serverEnvironment.now()
        let destination = try await destination(push, address)
        let kept: PushToken? = try await cloud.store.write(address.partition) { transaction in
            guard var held = try await transaction.pushToken(address.hash) else { return nil }
            held.seen = now
            held.device = caller.deviceID
            held.destination = destination ?? held.destination
            held.destination?.sessionID = address.sessionID
            try await PushTokenWriter(limits: cloud.limits).keep(held, &transaction)
            return held
        }
        guard let kept else {
            return try await create(
                clientID: clientID, service: service, in: container, environment, by: caller, sessionID: sessionID,
                push: push)
        }
        return try registration(token, address: address, position: kept.position, isPushed: kept.destination != nil)
    }

    /// Deletes a token: its device gets no more notifications by it. Deleting a token that does not exist is no error.
    ///
    /// - Throws: `authenticationRequired` without a user.
    package func remove(
        _ token: [UInt8], in container: ContainerID, _ environment: Environment, by caller: Caller
    ) async throws {
        guard let user = caller.user else { throw RequestFailure.notSignedIn }
        let hash = Array(SHA256.hash(data: token))
        try await cloud.store.write(.privateDatabase(container, environment, of: user)) { transaction in
            guard let held = try await transaction.pushToken(hash) else { return }
            try await PushTokenWriter(limits: cloud.limits).remove(held, &transaction)
        }
    }

    /// Returns the stored form of an address, once it is certain that it will be found again.
    private func destination(_ push: PushOrder?, _ place: LongPollAddress) async throws -> PushDestination? {
        guard let push else { return nil }
        guard push.address.bytes.count <= PushAddress.bytesMax else {
            throw RequestFailure(.badRequest, "the address of the push service is too long")
        }
        try await cloud.accountStore.sessions.keep(
            place.sessionID, until: cloud.serverEnvironment.now() + cloud.limits.pushTokenLifetime)
        try await cloud.registry.notePush(in: place.partition, now: cloud.serverEnvironment.now())
        cloud.pushIndex.insert(place.partition)
        let seal = PushAddressSeal(cloud.serverEnvironment)
        return PushDestination(
            service: push.service, address: try seal.seal(push.address, service: push.service, in: place.partition),
            addressID: seal.identity(of: push.address, service: push.service), sessionID: place.sessionID,
            takesSilent: push.takesSilent)
    }

    private func registration(
        _ token: [UInt8], address: LongPollAddress, position: UInt64, isPushed: Bool
    ) throws -> PushRegistration {
        PushRegistration(
            token: token, longPollPath: isPushed ? nil : try addressSeal.seal(address),
            position: QueuePosition.text(position, epoch: cloud.store.epoch))
    }

    private var addressSeal: LongPollAddressSeal { LongPollAddressSeal(cloud.serverEnvironment) }
}
