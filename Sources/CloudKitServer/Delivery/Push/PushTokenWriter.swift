import CloudKitModel
import CloudKitRecordLayer

/// Adds and removes tokens inside a transaction, and removes those that are replaced, expired or too many.
struct PushTokenWriter: Sendable {
    let limits: Limits

    /// Returns the position of the token.
    func add(_ token: PushToken, _ transaction: inout StorageWriter) async throws -> UInt64 {
        var header = try await transaction.notificationQueueHeader()
        var made = token
        var kept: [PushToken] = []
        var replaced: [UInt64] = []
        var pushedCount = made.destination == nil ? 0 : 1
        for held in try await transaction.pushTokens().sorted(by: { $0.seen > $1.seen }) where held.hash != made.hash {
            let isPushed = held.destination != nil
            if held.clientID == made.clientID || isSameDevice(held, made) {
                replaced.append(held.position)
                transaction.clear(held)
            } else if held.seen + limits.pushTokenLifetime <= made.seen || kept.count >= limits.pushTokensMax - 1
                || (isPushed && pushedCount >= limits.pushAddressesMax)
            {
                transaction.clear(held)
            } else {
                kept.append(held)
                if isPushed { pushedCount += 1 }
            }
        }
        made.position = replaced.max() ?? header.sequence
        transaction.set(made)
        header.devices = (kept + [made]).map(\.device)
        transaction.set(header)
        return made.position
    }

    /// Stores the updated token of a device that kept it.
    func keep(_ token: PushToken, _ transaction: inout StorageWriter) async throws {
        let others = try await transaction.pushTokens().filter { $0.hash != token.hash }
        for other in others where isSameDevice(other, token) { transaction.clear(other) }
        transaction.set(token)
        var header = try await transaction.notificationQueueHeader()
        header.devices = others.filter { !isSameDevice($0, token) }.map(\.device) + [token.device]
        transaction.set(header)
    }

    func remove(_ token: PushToken, _ transaction: inout StorageWriter) async throws {
        transaction.clear(token)
        var header = try await transaction.notificationQueueHeader()
        header.devices = try await transaction.pushTokens().filter { $0.hash != token.hash }.map(\.device)
        transaction.set(header)
    }

    /// Returns whether both tokens belong to the same address of a push service.
    private func isSameDevice(_ left: PushToken, _ right: PushToken) -> Bool {
        guard let left = left.destination, let right = right.destination else { return false }
        return left.addressID == right.addressID
    }
}
