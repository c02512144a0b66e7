/// The capabilities of a zone; raw values of `CKRecordZone.Capabilities` (B-ZN-04).
package struct ZoneCapabilities: OptionSet, Hashable, Sendable {
    /// The value as it is stored and sent.
    package let rawValue: UInt

    /// Creates the value from its stored form.
    package init(rawValue: UInt) { self.rawValue = rawValue }

    /// The zone's changes can be fetched.
    package static let fetchChanges = ZoneCapabilities(rawValue: 1)
    /// Changes to the zone's records can be atomic.
    package static let atomic = ZoneCapabilities(rawValue: 2)
    /// Records of the zone can be shared.
    package static let sharing = ZoneCapabilities(rawValue: 4)
    /// The zone can be shared as a whole.
    package static let zoneWideSharing = ZoneCapabilities(rawValue: 8)

    /// A custom private zone can do everything; the default zone and the public one nothing.
    package static let custom: ZoneCapabilities = [.fetchChanges, .atomic, .sharing, .zoneWideSharing]

    /// Returns the capabilities of a custom zone that seals in this way: trees need keys of their own (B-ZN-16).
    package static func custom(_ scope: ZoneEncryptionScope) -> ZoneCapabilities {
        scope == .perRecord ? custom : custom.subtracting(.sharing)
    }
}

/// The scope of the keys of a zone's sealed values; raw values of `CKRecordZone.EncryptionScope` (B-ZN-16).
package enum ZoneEncryptionScope: UInt8, Hashable, Sendable {
    case perRecord = 0
    /// The zone can be shared as a whole only.
    case perZone = 1
}

/// A zone as the server reports it.
package struct Zone: Hashable, Sendable {
    /// The id of the zone.
    package var id: ZoneID
    /// The capabilities of the zone.
    package var capabilities: ZoneCapabilities
    /// The token of the zone's newest change; custom zones only.
    package var syncToken: String?
    /// The epoch of the zone's key under which values have to be sealed now; it only grows, also when the zone is made
    /// again.
    package var keyEpoch: UInt32

    /// The record name of the zone's zone-wide share (B-ZN-15).
    package var share: String?
    /// The scope of the keys of the zone's sealed values.
    package var encryptionScope: ZoneEncryptionScope

    /// Creates a value with the given properties.
    package init(
        id: ZoneID, capabilities: ZoneCapabilities, encryptionScope: ZoneEncryptionScope = .perRecord,
        syncToken: String? = nil, keyEpoch: UInt32 = 0, share: String? = nil
    ) {
        self.id = id
        self.capabilities = capabilities
        self.encryptionScope = encryptionScope
        self.syncToken = syncToken
        self.keyEpoch = keyEpoch
        self.share = share
    }
}
