/// A zone is known by its name and its owner (B-ZN-01).
package struct ZoneID: Hashable, Sendable {
    /// The name of the zone.
    package var zoneName: String
    /// The owner of the zone.
    package var owner: UserID

    /// Creates a value with the given properties.
    package init(zoneName: String, owner: UserID = .caller) {
        self.zoneName = zoneName
        self.owner = owner
    }

    /// The name of every database's default zone.
    package static let defaultZoneName = "_defaultZone"

    /// The default zone of the caller.
    package static let `default` = ZoneID(zoneName: defaultZoneName)

    /// A Boolean value that indicates whether the zone is a default zone.
    package var isDefaultZone: Bool { zoneName == Self.defaultZoneName }
}
