import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Reads records by name.
package struct LookupRecords: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Reads records by name.
    ///
    /// - Returns: An outcome for each record asked for, in their order; `itemNotFound` for those that are missing
    ///   (B-REC-13).
    package func run(
        _ request: LookupRecordsRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> [RecordOutcome] {
        let place = try DatabaseAccess.place(address, for: caller, to: .readRecords).reaching(request.zoneID)
        let zoneName = try ZoneAccess.zoneName(of: request.zoneID, in: place)
        try caller.checkItemCount(request.records.count)
        let schema = place.scope == .public ? try await cloud.schemas.current(place.schemaPartition) : Schema()
        let names = request.records.map(\.recordName)
        let zoneID = place.zoneID(zoneName)
        let outcomes = try await cloud.store.read(place.partition) { view in
            let access = try await CallerAccess(try await view.zone(named: zoneName), in: place, view)
            let visible = try await access.visible(names, view)
            let damaged = DamagedRecords()
            let records = try await view.records(zone: access.zone.number, names: names, damaged: damaged)
            let damagedNames = damaged.names.intersection(visible)
            let outcomes: [RecordOutcome] = try zip(request.records, records).map { item, record in
                if damagedNames.contains(item.recordName) {
                    return .failed(recordName: item.recordName, .recordDamaged)
                }
                guard let record, !record.isTombstone, visible.contains(record.name) else {
                    return .failed(recordName: item.recordName, .recordNotFound)
                }
                if let refusal = readRefusal(record, in: place, schema) {
                    return .failed(recordName: item.recordName, refusal)
                }
                let desired = (item.desiredKeys ?? request.desiredKeys).map(Set.init)
                return .record(try record.record(in: zoneID, desired: desired))
            }
            return try await outcomes.attachingShares(view, zone: access.zone.number, in: place)
        }
        return try await cloud.userDirectory.addingIdentities(to: outcomes)
    }

    private func readRefusal(_ record: StoredRecord, in place: DatabaseContext, _ schema: Schema) -> RequestFailure? {
        guard place.scope == .public else { return nil }
        return PublicAccess.refusal(
            .read, grants: schema[record.recordType]?.grants ?? Grant.defaults, user: place.caller.user,
            creator: record.created.user)
    }
}
