/// The identity of a record; part of every associated data of the values that are sealed in it.
package struct RecordAddress: Hashable, Codable, Sendable {
    /// The zone of the record.
    package var zone: ZoneAddress
    /// The name of the record.
    package var name: String

    /// Creates a value with the given properties.
    package init(zone: ZoneAddress, name: String) {
        self.zone = zone
        self.name = name
    }

    var frame: Frame {
        var frame = zone.frame
        frame.append(name)
        return frame
    }
}

/// The key of one record in one epoch: seals its fields and asset keys, and wraps the keys of its children.
package struct RecordKey: Equatable, Sendable {
    /// The source of a record's key.
    package enum Origin: UInt8, Hashable, Sendable {
        /// The zone's key, from which the record's key is derived.
        case derived = 0
        /// Random, by a member of a share who does not have the zone's key: opened through the share or the parent.
        case made = 1
    }

    /// The record.
    package let place: RecordAddress
    /// The epoch of the key.
    package let epoch: UInt32
    /// The source of the key.
    package let origin: Origin
    let material: KeyMaterial

    init(place: RecordAddress, epoch: UInt32, origin: Origin, material: KeyMaterial) {
        self.place = place
        self.epoch = epoch
        self.origin = origin
        self.material = material
    }

    /// A random key, for a record that a member of a share writes without having the zone's key.
    package init(madeFor place: RecordAddress, epoch: UInt32, random: Randomness = .system) {
        self.init(place: place, epoch: epoch, origin: .made, material: random.key())
    }

    var item: EncryptionError.Item { .recordKey(record: place.name) }
}
