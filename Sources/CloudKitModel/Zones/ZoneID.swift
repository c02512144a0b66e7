/// A zone is known by its name and its owner (B-ZN-01).
package struct ZoneID: Hashable, Sendable {
    package var zoneName: String
    package var owner: UserID

    package init(zoneName: String, owner: UserID = .caller) {
        self.zoneName = zoneName
        self.owner = owner
    }

    package static let defaultZoneName = "_defaultZone"

    /// The default zone of the caller.
    package static let `default` = ZoneID(zoneName: defaultZoneName)

    package var isDefaultZone: Bool { zoneName == Self.defaultZoneName }
}

/// What a zone can do; raw values of `CKRecordZone.Capabilities` (B-ZN-04).
package struct ZoneCapabilities: OptionSet, Hashable, Sendable {
    package let rawValue: UInt

    package init(rawValue: UInt) { self.rawValue = rawValue }

    package static let fetchChanges = ZoneCapabilities(rawValue: 1)
    package static let atomic = ZoneCapabilities(rawValue: 2)
    package static let sharing = ZoneCapabilities(rawValue: 4)
    package static let zoneWideSharing = ZoneCapabilities(rawValue: 8)

    /// A custom private zone can do everything; the default zone and the public one nothing.
    package static let custom: ZoneCapabilities = [.fetchChanges, .atomic, .sharing, .zoneWideSharing]

    /// What a custom zone can do that seals in this way: trees need keys of their own (B-ZN-16).
    package static func custom(_ scope: ZoneEncryptionScope) -> ZoneCapabilities {
        scope == .perRecord ? custom : custom.subtracting(.sharing)
    }
}

/// What the keys of a zone's sealed values belong to; raw values of `CKRecordZone.EncryptionScope` (B-ZN-16).
package enum ZoneEncryptionScope: UInt8, Hashable, Sendable {
    case perRecord = 0
    /// The zone can be shared as a whole only.
    case perZone = 1
}

/// A zone as the server reports it.
package struct Zone: Hashable, Sendable {
    package var id: ZoneID
    package var capabilities: ZoneCapabilities
    /// The token of the zone's newest change; custom zones only.
    package var syncToken: String?
    /// The epoch of the zone's key under which values have to be sealed now; it only grows, also when the zone is made
    /// anew.
    package var keyEpoch: UInt32

    /// The record name of the zone's zone-wide share (B-ZN-15).
    package var share: String?
    package var encryptionScope: ZoneEncryptionScope

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
