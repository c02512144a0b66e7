import CloudKitModel
import CloudKitRecordLayer

/// Leaves everything that is shared in zones of other users.
struct LeaveSharedZones: Sendable {
    let cloud: Cloud

    init(_ cloud: Cloud) { self.cloud = cloud }

    /// Leaves everything shared in the deleted zones; creating a zone of another user is refused (B-DB-12, B-ACP-06).
    func run(_ operations: [ZoneOperation], in place: DatabaseContext) async throws -> [ZoneOutcome] {
        let ids = operations.compactMap { if case .delete(let id) = $0 { id } else { nil } }
        guard ids.count == operations.count else { throw RequestFailure.onlySharedZones }
        var outcomes: [ZoneOutcome] = []
        for (position, id) in ids.enumerated() {
            do {
                let place = try place.reaching(id)
                try await leaveZone(id.zoneName, in: place, at: position)
                outcomes.append(.deleted(place.zoneID(id.zoneName)))
            } catch let failure as RequestFailure {
                outcomes.append(.failed(id, failure))
            }
        }
        return outcomes
    }

    private func leaveZone(_ name: String, in place: DatabaseContext, at position: Int) async throws {
        guard let user = place.member else { throw RequestFailure.onlySharedZones }
        _ = try await ChangeShares(cloud).run(inZone: name, of: place, at: position) { view, access in
            let names = access.member?.slots.map(\.shareName) ?? []
            let shares = try await view.shares(zone: access.zone.number, names: names).compactMap { $0 }
            return (
                shares,
                { writer, transaction in
                    for share in shares { try await writer.leave(share, user: user, &transaction) }
                }
            )
        }
    }
}
