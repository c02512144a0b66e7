import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Saves and deletes records of one zone.
package struct ModifyRecords: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Saves and deletes records of one zone.
    ///
    /// In a custom zone either all operations take effect or none, unless the request says otherwise; elsewhere each
    /// succeeds or fails on its own (B-BAT-01 to B-BAT-04). In development the schema grows by the saved types and
    /// fields (B-SCH-01).
    ///
    /// - Returns: An outcome for each operation, in their order.
    /// - Throws: Failures of the request as a whole: its size (B-LIM-01, B-LIM-02), a record named twice (B-BAT-07,
    ///   B-BAT-08), a missing change tag, access, the zone (B-ZN-07).
    package func run(
        _ request: ModifyRecordsRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> [RecordOutcome] {
        let place = try DatabaseAccess.place(address, for: caller, to: .writeRecords).reaching(request.zoneID)
        let zoneName = try ZoneAccess.zoneName(of: request.zoneID, in: place)
        try ModifyCheck.check(request, caller: caller, limits: cloud.limits)
        try await checkAccess(ofZone: zoneName, in: place)
        let request = try await cloud.userDirectory.resolving(request, in: address.container)
        let limits = try await cloud.limits(in: place)
        let items = request.operations.enumerated().map { position, operation in
            IncomingChange(
                operation, at: position, in: place, zoneName: zoneName, desiredKeys: request.desiredKeys,
                serverEnvironment: cloud.serverEnvironment,
                seal: cloud.assetSeal, limits: limits)
        }
        let now = cloud.serverEnvironment.now()
        var batch = ChangeBatch(
            items: items, place: place, zoneName: zoneName, wantsAtomic: request.atomic ?? true,
            clientChangeToken: request.clientChangeToken, limits: limits, now: now,
            versionBeforeFirst: cloud.storeHistory.versionBeforeFirst(now: now))
        batch.knownZones = cloud.knownZones
        let update = ZoneStateKeeper.keepsStates(in: place) ? request.stateUpdate : nil
        let outcomes = try await StorageTurn.$user.withValue(caller.user?.recordName) { [batch] in
            try await run(batch, keeping: update)
        }
        return try await cloud.userDirectory.addingIdentities(to: outcomes)
    }

    /// Refuses non-members before they delay a zone's writers.
    private func checkAccess(ofZone name: String, in place: DatabaseContext) async throws {
        guard place.member != nil else { return }
        try await cloud.store.read(place.partition) { view in
            _ = try await CallerAccess(try await view.zone(named: name), in: place, view)
        }
    }

    /// Runs a batch, in several turns in the writer if it may be divided.
    ///
    /// - Parameter update: The state of the caller's device, kept with what the last turn writes.
    private func run(
        _ unprepared: ChangeBatch, keeping update: ZoneStateUpdate?
    ) async throws -> [RecordOutcome] {
        var batch = unprepared
        try await cloud.registry.enter(batch.place.partition)
        var schema = try await cloud.schemas.current(batch.place.schemaPartition)
        let preparation = try await prepared(batch, schema)
        batch.words = preparation.words
        var outcomes: [RecordOutcome] = []
        let turns = batch.turns(entryCounts: preparation.entryCounts)
        for turn in turns { try preparation.checkTurn(of: turn.items) }
        for turn in turns {
            let isLast = outcomes.count + turn.items.count == batch.items.count
            do {
                outcomes += try await run(turn, &schema, keeping: isLast ? update : nil)
            } catch {
                // What went before is saved: the rest fails by itself.
                guard !outcomes.isEmpty, let failure = error as? RequestFailure ?? RequestFailure(storage: error) else {
                    throw error
                }
                let rest = batch.items[outcomes.count...]
                return outcomes + rest.map { RecordOutcome.failed(recordName: $0.name, failure) }
            }
        }
        return outcomes
    }

    /// Runs one turn of a batch until the schema holds what it needs.
    private func run(
        _ batch: ChangeBatch, _ schema: inout Schema, keeping update: ZoneStateUpdate?
    ) async throws -> [RecordOutcome] {
        let place = batch.place
        let keeper = ZoneStateKeeper(place: place, tokens: cloud.tokens)
        var hasPendingWork = cloud.registry.hasPendingWork(in: place.partition, now: batch.now)
        for _ in 0..<Self.attemptsMax {
            let result = try await StorageTurn.$expectedReads.withValue(batch.expectedReads) {
                [schema, hasPendingWork] in
                try await cloud.writeNotifying(batch.partitions) { transaction, pendingNotifications in
                    let result = try await batch.run(
                        schema, hasPendingWork: hasPendingWork, pendingNotifications: pendingNotifications,
                        &transaction)
                    if let update, case .outcomes = result {
                        try await keeper.keep(update, zoneName: batch.zoneName, &transaction)
                    }
                    return result
                }
            }
            switch result {
            case .outcomes(let outcomes):
                await cloud.servedRequests.note(batch.items, outcomes, schema, in: place)
                return outcomes
            case .schemaIsOld: schema = try await cloud.schemas.current(place.schemaPartition)
            case .mustGrow(let growth):
                let grown = try await cloud.schemas.grow(place.schemaPartition, by: growth)
                schema = try await IndexOlderRecords(cloud).run(from: schema, to: grown, in: place)
            case .mustRegisterWork:
                try await cloud.registry.registerPendingWork(in: place.partition, now: batch.now)
                hasPendingWork = true
            }
        }
        throw RequestFailure(.zoneBusy, "the schema keeps changing", remedy: "Try again.", retryAfter: 1)
    }

    /// Finds the words of a batch's texts, new ones and those that they replace, before the batch takes its turn in the writer.
    private func prepared(_ batch: ChangeBatch, _ schema: Schema) async throws -> IndexPreparation {
        let bytes = batch.items.reduce(0) { $0 + $1.fields.reduce(0) { $0 + $1.json.count } }
        guard bytes > Self.smallBatchBytes else { return try await preparation(of: batch, schema) }
        // One large batch of a user at a time: they must not take all threads.
        return try await cloud.preparationTurns.withLock(batch.place.caller.user ?? batch.place.owner) {
            try await preparation(of: batch, schema)
        }
    }

    private static var smallBatchBytes: Int { 65_536 }

    private func preparation(of batch: ChangeBatch, _ schema: Schema) async throws -> IndexPreparation {
        let preparation = try await IndexPreparation(of: batch.items, schema: schema, limits: batch.limits)
        if preparation.words.isEmpty, !batch.items.contains(where: \.kind.isDelete) { return preparation }
        return try await cloud.store.read(batch.place.partition) { view in
            var preparation = preparation
            try await preparation.addHeld(batch.items, zoneName: batch.zoneName, schema: schema, view)
            return preparation
        }
    }

    /// One attempt for the promise, one for growth, and some for concurrent changes of the schema.
    private static var attemptsMax: Int { 8 }
}

/// Checks a request as a whole, before anything is read.
package enum ModifyCheck {
    /// Checked in this order: number of operations, their bytes, change tags, names that occur twice.
    package static func check(
        _ request: ModifyRecordsRequest, caller: Caller, limits: Limits
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
            operation.change.fields.reduce(sum + (operation.change.protection?.byteCount ?? 0)) { sum, change in
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
