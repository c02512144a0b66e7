import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Requests that are sent again because their answer was lost (B-THR-07).
extension ChangeBatch {
    /// Runs the operations that have not taken effect yet, and answers the others as they were answered then.
    func runRest(
        remembering memory: RequestMemory, headers: (database: DatabaseHeader, zone: ZoneHeader?), _ schema: Schema,
        hasPendingWork: Bool, pendingNotifications: NotificationBuffer, _ transaction: inout StorageWriter
    ) async throws -> Result {
        var rest = self
        rest.items = items.filter { memory.version(at: $0.position) == nil }
        var fresh: [RecordOutcome] = []
        if !rest.items.isEmpty {
            let result = try await rest.run(
                remembering: memory, headers: headers, schema, hasPendingWork: hasPendingWork,
                pendingNotifications: pendingNotifications, &transaction)
            guard case .outcomes(let outcomes) = result else { return result }
            fresh = outcomes
        }
        let access = try await CallerAccess(headers.zone, in: place, transaction)
        let records = try await savedRecords(memory, seenWith: access, transaction)
        var pending = fresh[...]
        let outcomes = try items.compactMap { item -> RecordOutcome? in
            guard let version = memory.version(at: item.position) else { return pending.popFirst() }
            return try outcome(of: item, savedAs: version, held: records[item.name])
        }
        return .outcomes(try await outcomes.attachingShares(transaction, zone: access.zone.number, in: place))
    }

    /// Returns the records under the names of the saves that took effect before, as far as the caller may see them.
    private func savedRecords(
        _ memory: RequestMemory, seenWith access: CallerAccess, _ view: StorageWriter
    ) async throws -> [String: StoredRecord] {
        let names = items.filter { !$0.kind.isDelete && memory.version(at: $0.position) != nil }.map(\.name)
        if names.isEmpty { return [:] }
        var records: [String: StoredRecord] = [:]
        for case let record? in try await access.records(names, view) where !record.isTombstone {
            records[record.name] = record
        }
        return records
    }

    /// Returns the outcome of an operation that took effect when the request was served before.
    ///
    /// - Parameters:
    ///   - version: The version of what it saved.
    ///   - held: The record now; nil where there is none that the caller may see.
    private func outcome(
        of item: IncomingChange, savedAs version: UInt64, held: StoredRecord?
    ) throws -> RecordOutcome {
        if item.kind.isDelete { return .deleted(RecordTombstone(recordName: item.name)) }
        guard let held else { return .failed(recordName: item.name, .recordNotFound) }
        if held.tagVersion == version {
            return .record(try held.record(in: place.zoneID(zoneName), desired: item.desired))
        }
        var failure = RequestFailure.changedSinceSave
        failure.serverRecord = RequestFailure.Box(try held.record(in: place.zoneID(zoneName)))
        return .failed(recordName: item.name, failure)
    }
}

extension RequestFailure {
    /// The outcome of a save that took effect when its request was sent before, and whose record others have changed since.
    static let changedSinceSave = RequestFailure(
        .changedSinceSave, "the record was saved when the request was sent before, and has changed since",
        remedy: "Take the record as it is now.")

    /// The answer to an attempt that arrives after a later one was served: nobody waits for it.
    static let overtakenAttempt = RequestFailure(
        .serverUnavailable, "a later attempt of this request was served", remedy: "Send the request again.")
}
