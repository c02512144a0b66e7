import CloudKitModel
import OrderedStore

/// A device's right to a user's notifications, in the user's partition. The token itself is not stored, only its hash.
package struct PushToken: Hashable, Sendable {
    /// SHA-256 of the token.
    package var hash: Bytes
    /// Chosen by the client: registering again under it replaces this token and keeps its position.
    package var clientID: String
    /// The device that signed in; nil for a client that did not.
    package var device: String?
    /// `development` or `production`, as the client said it.
    package var service: String
    /// The time at which the device last asked, at least roughly; milliseconds since 1970.
    package var seen: Int64
    /// Up to where the device has read the queue.
    package var position: UInt64
    /// The destination of notifications; nil when the device asks for them.
    package var destination: PushDestination?

    /// Creates a value with the given properties.
    package init(
        hash: Bytes, clientID: String, device: String?, service: String, seen: Int64, position: UInt64,
        destination: PushDestination? = nil
    ) {
        self.hash = hash
        self.clientID = clientID
        self.device = device
        self.service = service
        self.seen = seen
        self.position = position
        self.destination = destination
    }

    static func key(_ hash: Bytes) -> Bytes {
        var key = KeyBuilder(.pushToken, capacity: 40)
        key.append(hash)
        return key.bytes
    }

    /// The first byte of a value, which is its kind.
    private enum Format: UInt8 {
        case asks = 1
        /// Ends with a `PushDestination`.
        case isSentTo = 2
    }

    var value: Bytes {
        var value = ValueWriter(capacity: 128)
        value.add(byte: (destination == nil ? Format.asks : .isSentTo).rawValue)
        value.add(clientID)
        value.add(device)
        value.add(service)
        value.add(seen)
        value.add(position)
        destination?.encode(into: &value)
        return value.bytes
    }

    init(hash: Bytes, decoding bytes: Bytes) throws {
        var value = ValueReader(bytes, of: .pushToken)
        guard let format = Format(rawValue: try value.byte()) else { throw DamagedValue(.pushToken) }
        self.hash = hash
        clientID = try value.text()
        device = try value.optionalText()
        service = try value.text()
        seen = try value.number()
        position = try value.number()
        if format == .isSentTo { destination = try PushDestination(reading: &value) }
    }
}

extension Reading {
    /// Returns the push token of a hash; nil if there is none.
    package func pushToken(_ hash: Bytes) async throws -> PushToken? {
        try await get(PushToken.key(hash)).map { try PushToken(hash: hash, decoding: $0) }
    }

    /// Every token of the partition's user.
    package func pushTokens() async throws -> [PushToken] {
        try await scan(Subspace.pushToken.range, limit: .max).map { entry in
            var key = KeyReader(entry.key, in: .pushToken)
            return try PushToken(hash: key.readBytes(), decoding: entry.value)
        }
    }
}

extension WriteTransaction {
    /// Writes a push token.
    package mutating func set(_ token: PushToken) { set(PushToken.key(token.hash), token.value) }
    /// Removes a push token.
    package mutating func clear(_ token: PushToken) { clear(PushToken.key(token.hash)) }
}
