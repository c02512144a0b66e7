/// The identity of a zone; part of every associated data, so that nothing sealed in one zone opens in another (B-TM-04).
package struct ZoneAddress: Hashable, Codable, Sendable {
    /// The container.
    package var container: String
    /// `development` or `production`.
    package var environment: String
    /// The owner's user record name, never the placeholder `__defaultOwner__`.
    package var owner: String
    /// The name of the zone.
    package var zone: String

    /// Creates a value with the given properties.
    package init(container: String, environment: String, owner: String, zone: String) {
        self.container = container
        self.environment = environment
        self.owner = owner
        self.zone = zone
    }

    var frame: Frame {
        var frame = Frame()
        frame.append(container)
        frame.append(environment)
        frame.append(owner)
        frame.append(zone)
        return frame
    }
}
