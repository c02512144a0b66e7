import OrderedStore

/// The state that one device of a zone's owner has written about the zone; its bytes are opaque.
package struct StoredZoneState: Hashable, Sendable {
    /// The name of the device in the zone.
    package var device: String
    /// The number of the state.
    package var number: UInt64
    /// The incarnation of the zone that the device knew.
    package var incarnation: String
    /// The sealed bytes.
    package var bytes: Bytes

    /// Creates a value with the given properties.
    package init(device: String, number: UInt64, incarnation: String, bytes: Bytes) {
        self.device = device
        self.number = number
        self.incarnation = incarnation
        self.bytes = bytes
    }

    static func key(zone: UInt32, device: String) -> Bytes {
        KeyBuilder(.zoneState, zone: zone, capacity: 64).adding(device).bytes
    }

    var encoded: Bytes {
        var value = ValueWriter(capacity: 64 + bytes.count)
        value.add(byte: Self.format)
        value.add(number)
        value.add(incarnation)
        value.add(bytes)
        return value.bytes
    }

    private static let format: UInt8 = 1

    init(_ entry: Entry) throws {
        var key = KeyReader(entry.key, in: .zoneState)
        try key.skip()
        var value = ValueReader(entry.value, of: .zoneState)
        guard try value.byte() == Self.format else { throw DamagedValue(.zoneState) }
        self.init(
            device: try key.readString(), number: try value.number(), incarnation: try value.text(),
            bytes: try value.string())
    }
}

extension Reading {
    /// Returns the states of the devices of a zone's owner, in the order of their names.
    package func zoneStates(zone: UInt32) async throws -> [StoredZoneState] {
        try await scan(KeyRange(prefix: KeyBuilder(.zoneState, zone: zone).bytes), limit: .max)
            .map { try StoredZoneState($0) }
    }
}

extension WriteTransaction {
    /// Writes the state of a device.
    package mutating func set(_ state: StoredZoneState, zone: UInt32) {
        set(StoredZoneState.key(zone: zone, device: state.device), state.encoded)
    }

    /// Removes the state of a device.
    package mutating func clear(_ state: StoredZoneState, zone: UInt32) {
        clear(StoredZoneState.key(zone: zone, device: state.device))
    }
}
