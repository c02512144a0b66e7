/// The state that one device of an account has written about a zone; opaque to the cloud.
package struct ZoneDeviceState: Hashable, Sendable {
    /// The name that the device has in this zone: 24 hexadecimal digits.
    package var device: String
    /// The number of the state, which increases with each one that the device writes.
    package var number: UInt64
    /// The sealed bytes; empty where the reader has them.
    package var bytes: [UInt8]

    /// Creates a value with the given properties.
    package init(device: String, number: UInt64, bytes: [UInt8] = []) {
        self.device = device
        self.number = number
        self.bytes = bytes
    }

    /// The most bytes of one state.
    package static let bytesMax = 4096
    /// The most devices of an account with a state in one zone.
    package static let devicesMax = 64

    /// Returns a Boolean value that indicates whether a text can name a device.
    package static func isName(_ text: String) -> Bool {
        text.utf8.count == 24 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }
}

/// A state for the cloud to keep, as long as the zone is in the incarnation in which the device knows it.
package struct ZoneStateUpdate: Hashable, Sendable {
    /// The incarnation of the zone, as an earlier answer named it.
    package var incarnation: String
    /// The device's state.
    package var state: ZoneDeviceState

    /// Creates a value with the given properties.
    package init(incarnation: String, state: ZoneDeviceState) {
        self.incarnation = incarnation
        self.state = state
    }
}

/// The part of a request for a zone's feed about the states of the account's devices.
package struct ZoneStatesRequest: Hashable, Sendable {
    /// The device's own state, to keep before the feed is read.
    package var update: ZoneStateUpdate?
    /// The numbers of the states that the device has, by device.
    package var known: [String: UInt64]
    /// A Boolean value that indicates whether a feed from the beginning reports deletions as well.
    package var reportsAllDeletions: Bool

    /// Creates a value with the given properties.
    package init(
        update: ZoneStateUpdate? = nil, known: [String: UInt64] = [:], reportsAllDeletions: Bool = false
    ) {
        self.update = update
        self.known = known
        self.reportsAllDeletions = reportsAllDeletions
    }
}

/// The states of an account's devices at the end of a zone's feed, read together with it.
package struct ZoneStates: Hashable, Sendable {
    /// The incarnation of the zone: another one after it was deleted and made again, and after the cloud was restored.
    package var incarnation: String
    /// A Boolean value that indicates whether the feed no longer has all deletions.
    package var forgetsDeletions: Bool
    /// Every device's state.
    package var states: [ZoneDeviceState]

    /// Creates a value with the given properties.
    package init(incarnation: String, forgetsDeletions: Bool, states: [ZoneDeviceState]) {
        self.incarnation = incarnation
        self.forgetsDeletions = forgetsDeletions
        self.states = states
    }
}
