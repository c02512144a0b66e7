/// The highest key epoch that this device saw of each zone; a cloud that offers a lower one has gone back in time.
///
/// A small value that a file in the profile's folder holds.
package struct EpochPins: Hashable, Codable, Sendable {
    private var highest: [ZonePlace: UInt32] = [:]

    package init() {}

    /// Remembers an epoch that the cloud says a zone has now.
    /// - Returns: whether it is higher than the one known, so that the pins have to be written.
    /// - Throws: `epochWentBack` if it is lower.
    @discardableResult
    package mutating func see(_ epoch: UInt32, of zone: ZonePlace) throws(EncryptionError) -> Bool {
        let seen = highest[zone]
        if let seen, epoch < seen { throw .epochWentBack(.zoneKey(zone: zone.zone), offered: epoch, seen: seen) }
        highest[zone] = epoch
        return seen != epoch
    }

    package func epoch(of zone: ZonePlace) -> UInt32? { highest[zone] }

    /// For a zone that was deleted: a new one of the same name begins at 0.
    package mutating func forget(_ zone: ZonePlace) { highest[zone] = nil }
}
