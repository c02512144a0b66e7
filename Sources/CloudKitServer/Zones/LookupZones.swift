import CloudKitModel
import CloudKitRecordLayer

/// Reads zones by name.
package struct LookupZones: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Returns the requested zones, each found or not on its own.
    package func run(
        _ ids: [ZoneID], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [ZoneOutcome] {
        let place = try DatabaseAccess.place(address, for: caller, to: .readZones)
        try caller.checkItemCount(ids.count)
        if place.scope == .shared { return try await LookupSharedZones(cloud).run(ids, in: place) }
        let zones = try await cloud.store.read(place.partition) { view in
            try await view.zones(named: ids.map(\.zoneName))
        }
        return zip(ids, zones).map { id, zone in
            do throws(RequestFailure) {
                _ = try ZoneAccess.zoneName(of: id, in: place)
                return .zone(try ZoneAccess.live(zone).zone(in: place, cloud.tokens))
            } catch {
                return .failed(id, error)
            }
        }
    }
}
