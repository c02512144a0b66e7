/// Where a record lies; part of every associated data of what is sealed in it.
package struct RecordPlace: Hashable, Codable, Sendable {
    package var zone: ZonePlace
    package var name: String

    package init(zone: ZonePlace, name: String) {
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
    /// Where a record's key comes from.
    package enum Origin: UInt8, Hashable, Sendable {
        /// From the zone's key: whoever has that needs nothing else.
        case derived = 0
        /// Random, by a member of a share who does not have the zone's key: opened through the share or the parent.
        case made = 1
    }

    package let place: RecordPlace
    package let epoch: UInt32
    package let origin: Origin
    let material: KeyMaterial

    init(place: RecordPlace, epoch: UInt32, origin: Origin, material: KeyMaterial) {
        self.place = place
        self.epoch = epoch
        self.origin = origin
        self.material = material
    }

    /// A random key, for a record that a member of a share writes without having the zone's key.
    package init(madeFor place: RecordPlace, epoch: UInt32, random: Randomness = .system) {
        self.init(place: place, epoch: epoch, origin: .made, material: random.key())
    }

    var item: EncryptionError.Item { .recordKey(record: place.name) }
}
