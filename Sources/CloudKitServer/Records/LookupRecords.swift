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
    ///   (B-REC-13), `tryAgainLater` for those that the answer has no space for.
    package func run(
        _ request: LookupRecordsRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> [RecordOutcome] {
        let place = try DatabaseAccess.place(address, for: caller, to: .readRecords).reaching(request.zoneID)
        let zoneName = try ZoneAccess.zoneName(of: request.zoneID, in: place)
        try caller.checkItemCount(request.records.count)
        let schema = place.scope == .public ? try await cloud.schemas.current(place.schemaPartition) : .ofTheSystem
        let names = request.records.map(\.recordName)
        let zoneID = place.zoneID(zoneName)
        let knownZones = cloud.knownZones
        let expected = expectedKeys(of: names, zoneName: zoneName, in: place)
        let outcomes = try await cloud.store.read(place.partition, expecting: expected) { view in
            let access = try await CallerAccess(try await view.zone(named: zoneName), in: place, view)
            knownZones.note(access.zone, in: place.partition)
            let visible = try await access.visible(names, view)
            let damaged = DamagedRecords()
            var allowance = AnswerAllowance(bytesMax: cloud.limits.answerBytesMax)
            var outcomes: [RecordOutcome] = []
            outcomes.reserveCapacity(request.records.count)
            var rest = request.records[...]
            while !rest.isEmpty, !allowance.isSpent {
                let batch = rest.prefix(AnswerAllowance.batchMax)
                rest = rest.dropFirst(batch.count)
                let records = try await view.records(
                    zone: access.zone.number, names: batch.map(\.recordName), damaged: damaged)
                let damagedNames = damaged.names.intersection(visible)
                for (item, record) in zip(batch, records) {
                    allowance.read(bytes: record?.storedBytes ?? 0)
                    if damagedNames.contains(item.recordName) {
                        outcomes.append(.failed(recordName: item.recordName, .recordDamaged))
                        continue
                    }
                    guard let record, !record.isTombstone, visible.contains(record.name) else {
                        outcomes.append(.failed(recordName: item.recordName, .recordNotFound))
                        continue
                    }
                    if let refusal = readRefusal(record, in: place, schema) {
                        outcomes.append(.failed(recordName: item.recordName, refusal))
                        continue
                    }
                    let desired = (item.desiredKeys ?? request.desiredKeys).map(Set.init)
                    let found = try record.record(in: zoneID, desired: desired)
                    let fits = !allowance.isSpent && allowance.take(found)
                    outcomes.append(fits ? .record(found) : .failed(recordName: item.recordName, .answerFull))
                }
            }
            outcomes += rest.map { .failed(recordName: $0.recordName, .answerFull) }
            return try await outcomes.attachingShares(view, zone: access.zone.number, in: place)
        }
        return try await cloud.userDirectory.addingIdentities(to: outcomes)
    }

    /// Returns the rows that the owner's look-ups read, where they are few and known; members and the public have more to be checked.
    private func expectedKeys(of names: [String], zoneName: String, in place: DatabaseContext) -> [StorageBytes] {
        guard place.scope == .private, names.count < 16,
            let zone = cloud.knownZones.zone(named: zoneName, in: place.partition)
        else { return [] }
        return [ZoneHeader.key(named: zoneName)] + names.map { StoredRecord.key(zone: zone.number, name: $0) }
    }

    private func readRefusal(_ record: StoredRecord, in place: DatabaseContext, _ schema: Schema) -> RequestFailure? {
        guard place.scope == .public else { return nil }
        return schema.refusal(
            .read, ofType: record.recordType, to: place.caller.user, creator: record.created.user,
            isOperator: place.caller.isOperator)
    }
}
