/// The key of a zone in one epoch: gives the key of every record in it.
///
/// Its owner derives it; members of a zone that is shared as a whole get it under the share's key.
package struct ZoneKey: Equatable, Sendable {
    /// The zone.
    package let place: ZoneAddress
    /// The epoch of the key.
    package let epoch: UInt32
    let material: KeyMaterial

    /// The key of a record in this epoch, whether the record was ever written or not. Some microseconds.
    package func recordKey(_ name: String) -> RecordKey {
        var info = Frame("welkin record key 1")
        info.append(name)
        return RecordKey(
            place: RecordAddress(zone: place, name: name), epoch: epoch, origin: .derived,
            material: material.derive(info)
        )
    }
}
