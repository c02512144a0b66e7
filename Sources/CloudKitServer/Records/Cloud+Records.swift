import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

extension Cloud {
    /// Saves and deletes records of one zone.
    ///
    /// In a custom zone either all operations take effect or none, unless the request says otherwise; elsewhere each
    /// succeeds or fails on its own (B-BAT-01 to B-BAT-04). In development the schema grows by what is saved (B-SCH-01).
    ///
    /// - Returns: An outcome for each operation, in their order.
    /// - Throws: What concerns the request as a whole: its size (B-LIM-01, B-LIM-02), a record named twice (B-BAT-07,
    ///   B-BAT-08), a missing change tag, access, the zone (B-ZN-07).
    package func modifyRecords(
        _ request: ModifyRecordsRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> [RecordOutcome] {
        let place = try DatabaseAccess.place(address, for: caller, to: .writeRecords).reaching(request.zoneID)
        let zoneName = try ZoneAccess.zoneName(of: request.zoneID, in: place)
        try ModifyCheck.check(request, caller, limits)
        try await checkReach(ofZone: zoneName, in: place)
        let request = try await userDirectory.resolving(request, in: address.container)
        let limits = try await limits(in: place)
        let items = request.operations.map {
            RecordItem(
                $0, in: place, zoneName: zoneName, desiredKeys: request.desiredKeys,
                serverEnvironment: serverEnvironment,
                seal: assetSeal, limits: limits)
        }
        let sink = NoticeSink()
        let batch = RecordBatch(
            items: items, place: place, zoneName: zoneName, wantsAtomic: request.atomic ?? true,
            clientChangeToken: request.clientChangeToken, limits: limits, now: serverEnvironment.now(), sink: sink)
        let outcomes = try await run(batch)
        noticeBoard.tell(sink)
        return try await userDirectory.addingIdentities(to: outcomes)
    }

    /// Turns strangers away before a zone's writers are kept waiting for them.
    private func checkReach(ofZone name: String, in place: DatabasePlace) async throws {
        guard place.member != nil else { return }
        try await store.read(place.partition) { view in
            _ = try await ShareReach(try await view.zone(named: name), in: place, view)
        }
    }

    /// Runs a batch until the schema holds what it needs.
    private func run(_ batch: RecordBatch) async throws -> [RecordOutcome] {
        let place = batch.place
        try await registry.enter(place.partition)
        var schema = try await schemas.current(place.schemaPartition)
        var isWorkPromised = registry.isWorkPromised(in: place.partition, now: batch.now)
        for _ in 0..<Self.attemptsMax {
            let result = try await store.write(batch.partitions) { [schema, isWorkPromised] transaction in
                try await batch.run(schema, isWorkPromised: isWorkPromised, &transaction)
            }
            switch result {
            case .outcomes(let outcomes): return outcomes
            case .schemaIsOld: schema = try await schemas.current(place.schemaPartition)
            case .mustGrow(let growth):
                let grown = try await schemas.grow(place.schemaPartition, by: growth)
                schema = try await coverOlderRecords(from: schema, to: grown, in: place)
            case .mustPromiseWork:
                try await registry.promiseWork(in: place.partition, now: batch.now)
                isWorkPromised = true
            }
        }
        throw RequestFailure(.zoneBusy, "the schema keeps changing", remedy: "Try again.", retryAfter: 1)
    }

    /// One for the promise, one for growth, and some for others who change the schema at the same time.
    private static var attemptsMax: Int { 8 }

    /// Reads records by name.
    ///
    /// - Returns: An outcome for each record asked for, in their order; `itemNotFound` for those that are missing
    ///   (B-REC-13).
    package func lookupRecords(
        _ request: LookupRecordsRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> [RecordOutcome] {
        let place = try DatabaseAccess.place(address, for: caller, to: .readRecords).reaching(request.zoneID)
        let zoneName = try ZoneAccess.zoneName(of: request.zoneID, in: place)
        try checkCount(request.records.count, caller)
        let schema = place.scope == .public ? try await schemas.current(place.schemaPartition) : Schema()
        let names = request.records.map(\.recordName)
        let zoneID = place.zoneID(zoneName)
        let outcomes = try await store.read(place.partition) { view in
            let reach = try await ShareReach(try await view.zone(named: zoneName), in: place, view)
            let visible = try await reach.visible(names, view)
            let records = try await view.records(zone: reach.zone.number, names: names)
            let outcomes: [RecordOutcome] = try zip(request.records, records).map { item, record in
                guard let record, !record.isTombstone, visible.contains(record.name) else {
                    return .failed(recordName: item.recordName, .recordNotFound)
                }
                if let refusal = readRefusal(record, in: place, schema) {
                    return .failed(recordName: item.recordName, refusal)
                }
                let desired = (item.desiredKeys ?? request.desiredKeys).map(Set.init)
                return .record(try record.record(in: zoneID, desired: desired))
            }
            return try await outcomes.attachingShares(view, zone: reach.zone.number, in: place)
        }
        return try await userDirectory.addingIdentities(to: outcomes)
    }

    private func readRefusal(_ record: StoredRecord, in place: DatabasePlace, _ schema: Schema) -> RequestFailure? {
        guard place.scope == .public else { return nil }
        return PublicAccess.refusal(
            .read, grants: schema[record.recordType]?.grants ?? Grant.defaults, user: place.caller.user,
            creator: record.created.user)
    }
}

/// What is wrong with a request as a whole, before anything is read.
package enum ModifyCheck {
    /// Checked in this order: number of operations, their bytes, change tags, names that occur twice.
    package static func check(
        _ request: ModifyRecordsRequest, _ caller: Caller, _ limits: Limits
    ) throws(RequestFailure) {
        let operations = request.operations
        let max = caller.surface.itemsMax
        guard operations.count <= max else {
            throw RequestFailure(
                .itemLimitExceeded,
                "Your request contains \(operations.count) items which is more than the maximum number of items in a "
                    + "single request (\(max))", remedy: "Send the halves.")
        }
        guard bytes(of: operations) <= limits.requestBytesMax else {
            throw RequestFailure(.sizeLimitExceeded, "request too large", remedy: "Send the halves.")
        }
        if operations.contains(where: { $0.kind.checksTag && $0.change.changeTag == nil }) {
            throw RequestFailure(.badRequest, "BadRequestException: missing required field 'recordChangeTag'")
        }
        if operations.contains(where: { $0.kind.isDelete && $0.change.recordName == nil }) {
            throw RequestFailure(.badRequest, "BadRequestException: missing required field 'recordName'")
        }
        try checkNames(operations)
    }

    private static func bytes(of operations: [RecordOperation]) -> Int {
        operations.reduce(0) { sum, operation in
            operation.change.fields.reduce(sum + (operation.change.protection?.keys.count ?? 0)) { sum, change in
                if case .set(let field) = change { sum + field.name.utf8.count + field.json.count } else { sum }
            }
        }
    }

    /// Rules B-BAT-07 and B-BAT-08.
    private static func checkNames(_ operations: [RecordOperation]) throws(RequestFailure) {
        var isDeletion: [String: Bool] = [:]
        isDeletion.reserveCapacity(operations.count)
        for operation in operations {
            guard let name = operation.change.recordName else { continue }
            guard let earlier = isDeletion.updateValue(operation.kind.isDelete, forKey: name) else { continue }
            let reason =
                switch (earlier, operation.kind.isDelete) {
                case (false, false): "You can't save the same record twice"
                case (true, true): "You can't delete the same record twice"
                default: "You can't save and delete the same record in a single operation"
                }
            throw RequestFailure(.badRequest, reason, remedy: "Name each record once in a request.")
        }
    }
}
