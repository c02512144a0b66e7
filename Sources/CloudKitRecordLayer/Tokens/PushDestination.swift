import OrderedStore

/// The address of a device at a push service. A token with one is served by that service; without, the device asks by
/// itself (by long polls).
package struct PushDestination: Hashable, Sendable {
    /// The name of the push service.
    package var service: String
    /// The service's address of the device, sealed.
    package var address: Bytes
    /// Equal for equal addresses, without disclosing them.
    package var addressID: Bytes
    /// The session in which it was registered: it is good no longer than that; empty: made without one.
    package var sessionID: String
    /// Whether the device wants what shows nothing, too.
    package var takesSilent: Bool
    /// Since when nothing gets through; nil: the last message did.
    package var failures: PushFailures?

    /// Creates a value with the given properties.
    package init(
        service: String, address: Bytes, addressID: Bytes, sessionID: String, takesSilent: Bool,
        failures: PushFailures? = nil
    ) {
        self.service = service
        self.address = address
        self.addressID = addressID
        self.sessionID = sessionID
        self.takesSilent = takesSilent
        self.failures = failures
    }

    func encode(into value: inout ValueWriter) {
        value.add(service)
        value.add(address)
        value.add(addressID)
        value.add(sessionID)
        value.add(byte: takesSilent ? 1 : 0)
        value.add(byte: failures == nil ? 0 : 1)
        if let failures {
            value.add(failures.since)
            value.add(failures.count)
            value.add(failures.again)
        }
    }

    init(reading value: inout ValueReader) throws {
        service = try value.text()
        address = try value.string()
        addressID = try value.string()
        sessionID = try value.text()
        takesSilent = try value.byte() == 1
        if try value.byte() == 1 {
            failures = PushFailures(since: try value.number(), count: try value.number(), again: try value.number())
        }
    }
}

/// Attempts in a row that failed. Times are milliseconds since 1970.
package struct PushFailures: Hashable, Sendable {
    /// The first of them.
    package var since: Int64
    /// The number of attempts.
    package var count: UInt32
    /// The time of the next attempt.
    package var again: Int64

    /// Creates a value with the given properties.
    package init(since: Int64, count: UInt32, again: Int64) {
        self.since = since
        self.count = count
        self.again = again
    }
}
