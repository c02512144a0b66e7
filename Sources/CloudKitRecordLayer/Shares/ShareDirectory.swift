import CloudKitModel
import OrderedStore

/// The location of the share behind a short GUID: written when the share begins, valid as long as its zone lives. Whether
/// the share still exists is decided by the owner's partition.
package struct ShareLocation: Hashable, Sendable {
    /// The container.
    package var container: ContainerID
    /// The environment.
    package var environment: Environment
    /// The owner of the share.
    package var owner: UserID
    /// The name of the zone.
    package var zoneName: String
    /// The number of the zone.
    package var zone: UInt32
    /// nil for a zone-wide share.
    package var root: String?
    /// The participant whose one-time link it is; nil: the share's own link.
    package var participantID: String?

    /// Creates a value with the given properties.
    package init(
        container: ContainerID, environment: Environment, owner: UserID, zoneName: String, zone: UInt32,
        root: String?, participantID: String? = nil
    ) {
        self.container = container
        self.environment = environment
        self.owner = owner
        self.zoneName = zoneName
        self.zone = zone
        self.root = root
        self.participantID = participantID
    }

    fileprivate static func key(_ shortGUID: String) -> Bytes { KeyBuilder(.shareDirectory).adding(shortGUID).bytes }

    private static let format: UInt8 = 1

    fileprivate var encoded: Bytes {
        var value = ValueWriter()
        value.add(byte: Self.format)
        value.add(container.name)
        value.add(environment.rawValue)
        value.add(owner.recordName)
        value.add(zoneName)
        value.add(zone)
        value.add(root)
        value.add(participantID)
        return value.bytes
    }

    init(decoding bytes: Bytes) throws {
        var value = ValueReader(bytes, of: .shareDirectory)
        guard try value.byte() == Self.format else { throw DamagedValue(.shareDirectory) }
        let container = ContainerID(try value.text())
        guard let environment = Environment(rawValue: try value.text()) else { throw DamagedValue(.shareDirectory) }
        self.init(
            container: container, environment: environment, owner: UserID(try value.text()),
            zoneName: try value.text(), zone: try value.number(), root: try value.optionalText(),
            participantID: try value.optionalText())
    }
}

extension Partition {
    /// Which share every short GUID of the cloud belongs to.
    package static let shareDirectory = Partition("shares")
}

extension Reading {
    /// The place of a short GUID, in the directory's partition.
    package func shareLocation(shortGUID: String) async throws -> ShareLocation? {
        try await get(ShareLocation.key(shortGUID)).map(ShareLocation.init(decoding:))
    }
}

extension WriteTransaction {
    /// Lists a short GUID in the directory, which the transaction must have named.
    package mutating func set(_ place: ShareLocation, shortGUID: String) throws {
        try set(ShareLocation.key(shortGUID), place.encoded, in: .shareDirectory)
    }
}
