/// The root of the keys of everything one account owns in one container and environment.
package struct ContainerRoot: Equatable, Sendable {
    /// The container.
    package let container: String
    /// The environment.
    package let environment: String
    let material: KeyMaterial

    /// The key of one of the account's own zones; derived, nothing has to be fetched.
    /// - Parameters:
    ///   - owner: The account's own user record name in this container.
    ///   - epoch: The zone's, raised whenever someone loses access; 0 at first.
    package func zoneKey(owner: String, zone: String, epoch: UInt32) -> ZoneKey {
        var info = Frame("welkin zone key 1")
        info.append(owner)
        info.append(zone)
        info.append(epoch)
        let place = ZoneAddress(container: container, environment: environment, owner: owner, zone: zone)
        return ZoneKey(place: place, epoch: epoch, material: material.derive(info))
    }
}
