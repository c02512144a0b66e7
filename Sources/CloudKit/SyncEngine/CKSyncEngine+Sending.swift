import CloudKitClient
import Foundation

extension CKSyncEngine {
    /// One send from the first event to the last.
    func send(_ context: SendChangesContext) async throws {
        try await checkAccount()
        await post(.willSendChanges(Event.WillSendChanges(context: context)))
        let result = await Result(catching: { () async throws(CKError) in try await sendAll(context) })
        await post(.didSendChanges(Event.DidSendChanges(context: context)))
        try result.get()
    }

    /// Sends zones before records (B-SYN-04), batch after batch until the delegate has no more. A batch with a failure
    /// is the last one: the app's corrections belong to the next send.
    private func sendAll(_ context: SendChangesContext) async throws(CKError) {
        var goesOn = true
        while goesOn {
            if Task.isCancelled { throw CKError(.cancelled) }
            if try await sendZones(context) { continue }
            goesOn = try await sendRecords(context)
        }
    }

    // MARK: Zones

    /// - Returns: Whether there were any.
    private func sendZones(_ context: SendChangesContext) async throws(CKError) -> Bool {
        let known = state.value
        let pending = known.databaseChanges.changes.filter { context.options.scope.containsZone($0.zoneID) }
            .prefix(RequestLimits.itemsMax)
        guard !pending.isEmpty else { return false }
        var outcome = ZonesOutcome()
        let epoch = storeEpoch?.name
        do {
            var zones: [CKRecordZone] = []
            var gone: [CKRecordZone.ID] = []
            for change in pending {
                switch change {
                case .saveZone(let zone): zones.append(zone)
                case .deleteZone(let id): gone.append(id)
                }
            }
            let results = try await verifiedDatabase(context.options.operationGroup).modifyRecordZones(
                saving: zones, deleting: gone)
            for zone in zones { outcome.note(zone, results.saveResults[zone.zoneID]) }
            for id in gone { outcome.note(id, results.deleteResults[id]) }
        } catch {
            outcome.fail(pending, CKError.any(error))
        }
        let event = outcome.event
        let saved = event.savedZones.map(\.zoneID)
        let now = now
        await post(
            .sentDatabaseChanges(event),
            preparing: { state in
                if !saved.isEmpty { state.noteEpoch(epoch) }
                let isNew = state.noteSent(zones: saved, now: now)
                return state.settle(outcome.settled, until: known.revision) || isNew
            })
        if let error = outcome.error { throw error }
        return true
    }

    // MARK: Records

    /// - Returns: Whether there were any.
    private func sendRecords(_ context: SendChangesContext) async throws(CKError) -> Bool {
        let known = state.value
        guard let batch = await nextBatch(context, until: known.revision) else { return false }
        let ids = batch.recordsToSave.map(\.recordID) + batch.recordIDsToDelete
        guard ids.allSatisfy(context.options.scope.contains) else {
            throw CKError.invalidArguments("A batch of record zone changes holds changes outside of the scope")
        }
        // That of the cloud before the request: after one that was restored meanwhile the changes are offered once too often, never lost.
        let epoch = storeEpoch?.name
        let outcome = await send(batch, context.options.operationGroup)
        let event = outcome.event
        let now = now
        await post(
            .sentRecordZoneChanges(event),
            preparing: { state in
                if !event.savedRecords.isEmpty { state.noteEpoch(epoch) }
                let hasConflicts = state.noteConflicts(event.failedRecordSaves.compactMap(\.error.serverRecord))
                let isNew = state.noteSent(event.savedRecords, event.deletedRecordIDs, now: now) || hasConflicts
                return state.settle(outcome.settled, until: known.revision) || isNew
            })
        if let error = outcome.error { throw error }
        return true
    }

    /// Asks the delegate for a batch, and drops what it no longer has (B-SYN-06).
    private func nextBatch(_ context: SendChangesContext, until revision: UInt64) async -> RecordZoneChangeBatch? {
        let skipped = SkippedChanges()
        let batch = await events.withLock {
            await SkippedChanges.$current.withValue(skipped) {
                await asking { await $0.nextRecordZoneChangeBatch(context, syncEngine: self) }
            }
        }
        let found = batch.flatMap { $0 }
        let isEmpty = found.map { $0.recordsToSave.isEmpty && $0.recordIDsToDelete.isEmpty } ?? true
        let isAll = isEmpty && batch != nil && context.options.scope == .all
        await post(
            nil,
            preparing: { state in
                let isChanged = state.settle(skipped.all, until: revision)
                return (isAll && state.settleUntracked(until: revision)) || isChanged
            })
        return isEmpty ? nil : found
    }

    /// Sends a batch zone by zone, each in as many requests as its size takes.
    private func send(_ batch: RecordZoneChangeBatch, _ group: CKOperationGroup) async -> RecordsOutcome {
        var outcome = RecordsOutcome()
        var end: CKError?
        for part in ZonePart.parts(of: batch) {
            // The remaining changes wait for the same reason.
            if let end {
                outcome.fail(part, end)
            } else {
                end = await send(part, in: group, noting: &outcome)
            }
        }
        return outcome
    }

    /// - Returns: The failure that makes further requests useless.
    private func send(
        _ part: ZonePart, in group: CKOperationGroup, noting outcome: inout RecordsOutcome
    ) async -> CKError? {
        do {
            // An app with an edit that waits takes no more than the version: with that of a record which others have changed since, it would
            // write over changes that it has not seen.
            let results = try await verifiedDatabase(group).modifyingRecords(
                saving: part.saves, deleting: part.deletes, atomically: part.isAtomic, reportsOvertakenAsSent: true)
            for record in part.saves { outcome.note(record, results.saveResults[record.recordID]) }
            for id in part.deletes { outcome.note(id, results.deleteResults[id]) }
            return nil
        } catch {
            let error = CKError.any(error)
            if error.code == .limitExceeded, let halves = part.halves {
                if let end = await send(halves.0, in: group, noting: &outcome) {
                    outcome.fail(halves.1, end)
                    return end
                }
                return await send(halves.1, in: group, noting: &outcome)
            }
            outcome.fail(part, error)
            return error.endsSync ? error : nil
        }
    }
}

/// The changes of one zone in a batch: what one request carries, if it is not too large.
struct ZonePart {
    var saves: [CKRecord] = []
    var deletes: [CKRecord.ID] = []
    var isAtomic: Bool

    /// In the order in which their zones are first named.
    static func parts(of batch: CKSyncEngine.RecordZoneChangeBatch) -> [ZonePart] {
        var parts: [ZonePart] = []
        var places: [CKRecordZone.ID: Int] = [:]
        func place(_ zone: CKRecordZone.ID) -> Int {
            if let place = places[zone] { return place }
            places[zone] = parts.count
            parts.append(ZonePart(isAtomic: batch.atomicByZone))
            return parts.count - 1
        }
        for record in batch.recordsToSave { parts[place(record.recordID.zoneID)].saves.append(record) }
        for id in batch.recordIDsToDelete { parts[place(id.zoneID)].deletes.append(id) }
        return parts
    }

    /// Two parts to send one after the other: parents before their children, saves before deletions (B-LIM-02). nil for a
    /// single item, and for what must take effect as a whole.
    var halves: (ZonePart, ZonePart)? {
        guard !isAtomic, saves.count + deletes.count > 1 else { return nil }
        let saves = Self.parentsFirst(saves)
        let cut = (saves.count + deletes.count) / 2
        let first = ZonePart(
            saves: Array(saves.prefix(cut)), deletes: Array(deletes.prefix(max(0, cut - saves.count))),
            isAtomic: false)
        let second = ZonePart(
            saves: Array(saves.dropFirst(cut)), deletes: Array(deletes.dropFirst(first.deletes.count)),
            isAtomic: false)
        return (first, second)
    }

    static func parentsFirst(_ records: [CKRecord]) -> [CKRecord] {
        let byID = Dictionary(records.map { ($0.recordID, $0) }) { first, _ in first }
        func depth(_ record: CKRecord) -> Int {
            var depth = 0
            var parent = record.parent.flatMap { byID[$0.recordID] }
            // A chain longer than there are records is a circle, which the server will refuse.
            while let next = parent, depth < records.count {
                depth += 1
                parent = next.parent.flatMap { byID[$0.recordID] }
            }
            return depth
        }
        guard records.contains(where: { $0.parent != nil }) else { return records }
        return records.enumerated().map { (depth($1), $0, $1) }.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
    }
}

/// The outcome of a batch of zones.
private struct ZonesOutcome {
    private var saved: [CKRecordZone] = []
    private var failedSaves: [CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave] = []
    private var deleted: [CKRecordZone.ID] = []
    private var failedDeletes: [CKRecordZone.ID: CKError] = [:]
    private var whole: CKError?
    /// The changes that are no longer pending.
    private(set) var settled: Set<CKSyncEngine.PendingDatabaseChange> = []

    mutating func note(_ zone: CKRecordZone, _ result: Result<CKRecordZone, any Error>?) {
        switch result ?? .failure(CKError(.answerMalformed(status: 200))) {
        case .success(let current):
            saved.append(current)
            settled.insert(.saveZone(zone))
        case .failure(let error):
            fail(.saveZone(zone), CKError.any(error))
        }
    }

    mutating func note(_ id: CKRecordZone.ID, _ result: Result<Void, any Error>?) {
        switch result ?? .failure(CKError(.answerMalformed(status: 200))) {
        case .success:
            deleted.append(id)
            settled.insert(.deleteZone(id))
        case .failure(let error):
            fail(.deleteZone(id), CKError.any(error))
        }
    }

    mutating func fail(_ changes: some Sequence<CKSyncEngine.PendingDatabaseChange>, _ error: CKError) {
        whole = error
        for change in changes { fail(change, error) }
    }

    private mutating func fail(_ change: CKSyncEngine.PendingDatabaseChange, _ error: CKError) {
        switch change {
        case .saveZone(let zone): failedSaves.append(.init(zone: zone, error: error))
        case .deleteZone(let id): failedDeletes[id] = error
        }
        if SendFailureHandling(error) == .leaveToApp { settled.insert(change) }
    }

    var event: CKSyncEngine.Event.SentDatabaseChanges {
        .init(
            savedZones: saved, failedZoneSaves: failedSaves, deletedZoneIDs: deleted, failedZoneDeletes: failedDeletes)
    }

    /// nil when everything was sent.
    var error: CKError? {
        if let whole { return whole }
        var errors: [AnyHashable: any Error] = [:]
        for failed in failedSaves { errors[failed.zone.zoneID] = failed.error }
        for (id, error) in failedDeletes { errors[id] = error }
        return CKError.partial(errors, operation: "modify some record zones")
    }
}

/// The outcome of a batch of records.
private struct RecordsOutcome {
    private var saved: [CKRecord] = []
    private var failedSaves: [CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave] = []
    private var deleted: [CKRecord.ID] = []
    private var failedDeletes: [CKRecord.ID: CKError] = [:]
    private var whole: CKError?
    /// The changes that are no longer pending.
    private(set) var settled: Set<CKSyncEngine.PendingRecordZoneChange> = []

    mutating func note(_ record: CKRecord, _ result: Result<CKRecord, any Error>?) {
        switch result ?? .failure(CKError(.answerMalformed(status: 200))) {
        case .success(let current):
            saved.append(current)
            settled.insert(.saveRecord(record.recordID))
        case .failure(let error):
            fail(record, CKError.any(error))
        }
    }

    mutating func note(_ id: CKRecord.ID, _ result: Result<Void, any Error>?) {
        switch result ?? .failure(CKError(.answerMalformed(status: 200))) {
        case .success:
            deleted.append(id)
            settled.insert(.deleteRecord(id))
        case .failure(let error):
            fail(id, CKError.any(error))
        }
    }

    /// Nothing of the part was sent.
    mutating func fail(_ part: ZonePart, _ error: CKError) {
        if error.endsSync { whole = error }
        for record in part.saves { fail(record, error) }
        for id in part.deletes { fail(id, error) }
    }

    private mutating func fail(_ record: CKRecord, _ error: CKError) {
        failedSaves.append(.init(record: record, error: error))
        if SendFailureHandling(error) == .leaveToApp { settled.insert(.saveRecord(record.recordID)) }
    }

    private mutating func fail(_ id: CKRecord.ID, _ error: CKError) {
        failedDeletes[id] = error
        if SendFailureHandling(error) == .leaveToApp { settled.insert(.deleteRecord(id)) }
    }

    var event: CKSyncEngine.Event.SentRecordZoneChanges {
        .init(
            savedRecords: saved, failedRecordSaves: failedSaves, deletedRecordIDs: deleted,
            failedRecordDeletes: failedDeletes)
    }

    /// nil when everything was sent.
    var error: CKError? {
        if let whole { return whole }
        var errors: [AnyHashable: any Error] = [:]
        for failed in failedSaves { errors[failed.record.recordID] = failed.error }
        for (id, error) in failedDeletes { errors[id] = error }
        return CKError.partial(errors, operation: "modify some records")
    }
}
