import CloudKitModel
import CloudKitRecordLayer

/// Lists the zones of a database.
package struct ListZones: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Every zone of a database: the default zone first, then the custom ones by name (B-ZN-13).
    package func run(in address: DatabaseAddress, by caller: Caller) async throws -> [Zone] {
        let place = try DatabaseAccess.place(address, for: caller, to: .readZones)
        switch place.scope {
        case .public: return [ZoneHeader.implicitDefault.zone(in: place, cloud.tokens)]
        case .shared: return try await ListSharedZones(cloud).run(in: place)
        case .private: break
        }
        let zones = try await cloud.store.read(place.partition) { view in
            try await view.zones(limit: .max)
        }
        let custom = zones.filter { $0.isCustom && $0.state == .live }
        let standard = zones.first(where: \.isDefaultZone) ?? .implicitDefault
        return ([standard] + custom).map { $0.zone(in: place, cloud.tokens) }
    }
}
