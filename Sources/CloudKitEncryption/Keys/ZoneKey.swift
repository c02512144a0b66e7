/// The key of a zone in one epoch: gives the key of every record in it.
///
/// Its owner derives it; members of a zone that is shared as a whole get it under the share's key.
package struct ZoneKey: Equatable, Sendable {
    /// The zone.
    package let place: ZoneAddress
    /// The epoch of the key.
    package let epoch: UInt32
    let material: KeyMaterial
    /// Of `material`: prepared once for all records.
    private let derivation: KeyDerivation

    init(place: ZoneAddress, epoch: UInt32, material: KeyMaterial) {
        self.place = place
        self.epoch = epoch
        self.material = material
        derivation = material.derivation
    }

    /// Returns whether two values are the same key of the same zone.
    package static func == (one: Self, other: Self) -> Bool {
        one.place == other.place && one.epoch == other.epoch && one.material == other.material
    }

    /// The key of a record in this epoch, whether the record was ever written or not. Some microseconds.
    package func recordKey(_ name: String) -> RecordKey {
        var info = Frame("welkin record key 1")
        info.append(name)
        return RecordKey(
            place: RecordAddress(zone: place, name: name), epoch: epoch, origin: .derived,
            material: derivation.derive(info)
        )
    }
}
