import CloudKitModel
import CloudKitRecordLayer

/// Reads zones of other users by name.
struct LookupSharedZones: Sendable {
    let cloud: Cloud

    init(_ cloud: Cloud) { self.cloud = cloud }

    /// Some of them, each found or not on its own.
    func run(_ ids: [ZoneID], in place: DatabaseContext) async throws -> [ZoneOutcome] {
        let shared = try SharedDatabase(cloud, in: place)
        var outcomes: [ZoneOutcome] = []
        for id in ids {
            do {
                let place = try place.reaching(id)
                let number = try await cloud.store.read(place.partition) { view in
                    try await CallerAccess(try await view.zone(named: id.zoneName), in: place, view).zone.number
                }
                let joined = JoinedZone(owner: id.owner, zoneName: id.zoneName, zone: number, noted: 0)
                guard case .reached(let reached)? = try await shared.findings([joined]).first?.finding else {
                    throw RequestFailure.zoneNotFound
                }
                outcomes.append(.zone(reached.zone(sealedBy: cloud.tokens)))
            } catch let failure as RequestFailure {
                outcomes.append(.failed(id, failure))
            }
        }
        return outcomes
    }
}
