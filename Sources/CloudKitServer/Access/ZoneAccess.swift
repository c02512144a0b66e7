import CloudKitModel
import CloudKitRecordLayer

/// Decides which zones a caller reaches in a database, and whether they can be used.
package enum ZoneAccess {
    /// Returns the zone's name in the partition of its owner, for a zone as a caller names it.
    ///
    /// Rules B-DB-04, B-DB-12, B-ZN-03. In the shared database the place is one that reaches the zone
    /// (`DatabaseContext.reaching(_:)`).
    package static func zoneName(of id: ZoneID, in place: DatabaseContext) throws(RequestFailure) -> String {
        let isOwn = id.owner.isCaller || id.owner == place.owner
        switch place.scope {
        case .public:
            guard isOwn, id.isDefaultZone else { throw .zoneNotFound }
        case .private:
            guard isOwn else {
                throw RequestFailure(
                    .badRequest, "PrivateDB can't be used to access another user's zone",
                    remedy: "Use the shared database.")
            }
        case .shared:
            guard place.member != nil, id.owner == place.owner else { throw .onlySharedZones }
        }
        return id.zoneName
    }

    /// Lets a zone pass that exists and is neither purged nor without its keys (B-ZN-07, B-ZN-10, B-ZN-12).
    package static func live(_ zone: ZoneHeader?) throws(RequestFailure) -> ZoneHeader {
        guard let zone else { throw .zoneNotFound }
        switch zone.state {
        case .live: return zone
        case .deleted: throw .zoneNotFound
        case .purged: throw .zonePurged
        case .keysReset: throw .zoneKeysReset
        }
    }
}

extension RequestFailure {
    static let zoneNotFound = RequestFailure(.zoneNotFound, "Zone does not exist", remedy: "Create the zone first.")

    static let zonePurged = RequestFailure(
        .zonePurged, "Zone was purged by user",
        remedy: "Drop what is cached, and ask the user before the zone is saved again.")

    static let zoneKeysReset = RequestFailure(
        .zoneKeysReset, "Zone does not exist: the user reset the keys of its encrypted data",
        remedy: "Delete the zone, create it again and save the local copy.")

    static let onlySharedZones = RequestFailure(
        .badRequest, "Only shared zones can be accessed in the shared DB", remedy: "Use the private database.")
}
