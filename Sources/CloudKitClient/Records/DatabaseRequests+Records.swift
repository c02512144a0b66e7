import CloudKitModel
import Synchronization

/// The outcome of one item of a modification.
package struct ModifyItemOutcome: Sendable {
    package var item: ModifyPlan.Item
    /// The saved record; nil for a deletion.
    package var result: Result<OpenedRecord?, CallFailure>
    /// The server's record, with a conflict (B-SAV-07).
    package var serverRecord: OpenedRecord?
    /// Whether others have changed the saved record before a repeated request was answered (B-THR-07): then the result has their values.
    package var isOvertaken = false
}

extension DatabaseRequests {
    /// Sends a plan zone by zone, one after the other; what fails in one leaves the others alone (B-BAT-01).
    ///
    /// - Parameters:
    ///   - progress: Gets the place of a record in the list to save and how much of its files is sent, below 1.
    ///   - deliver: Gets each zone's items once they are decided.
    /// - Throws: Only before any zone was answered, for a failure that is about no zone in particular. Afterwards the
    ///   items carry it.
    package func sendByZone(
        _ plan: ModifyPlan, progress: @escaping AssetProgress,
        deliver: @Sendable ([ModifyItemOutcome]) async -> Void
    ) async throws {
        var series = ZoneFailurePolicy()
        for batch in plan.batches {
            do {
                if let failure = series.end { throw failure }
                try Task.checkCancellation()
                let incarnation = incarnation(of: batch.zoneID)
                let outcomes = try await sendingLostAgain(
                    try await uploadAndSend(batch, progress), of: batch, progress)
                let deleted = outcomes.filter { if case .success(nil) = $0.result { true } else { false } }
                forget(deleted.map(\.item.id.recordName), in: batch.zoneID, incarnation: incarnation)
                note(saved: outcomes, in: batch.zoneID, incarnation: incarnation)
                series.answered()
                await deliver(outcomes)
            } catch {
                let failure = try series.failed(consideringEarlierProcess(CallFailure(error)))
                await deliver(batch.items.map { ModifyItemOutcome(item: $0, result: .failure(failure)) })
            }
        }
    }

    /// Returns the failure of a batch before its records were sent: not one that says that nothing was saved, where an earlier process has
    /// sent them.
    private func consideringEarlierProcess(_ failure: CallFailure) -> CallFailure {
        guard failure.saysNothingOfEarlierAttempts, longLivedRun?.awaitsAnswer(of: .modifyRecords) == true else {
            return failure
        }
        return .transport(.connectionLost)
    }

    /// Sends one zone's part of a plan, after the files of its records.
    func uploadAndSend(
        _ batch: ModifyPlan.Batch, _ progress: @escaping AssetProgress
    ) async throws -> [ModifyItemOutcome] {
        let isNative = connection.cloud.surface.isNative
        let batch = isNative ? batch : batch.withoutKeys
        let uploads = isNative ? [:] : batch.refusalsByWebServices
        let (sendable, refused) = batch.uploadableBatch(
            try await uploadAssets(of: batch, progress).merging(uploads) { $1 }, scope: scope)
        let outcomes = sendable.items.isEmpty ? [] : try await sealAndSend(sendable)
        var answered = await opened(outcomes, of: sendable)[...]
        return zip(batch.items, refused).map { item, refusal in
            if let refusal { return ModifyItemOutcome(item: item, result: .failure(refusal)) }
            return answered.popFirst() ?? ModifyItemOutcome(item: item, result: .failure(.answerMalformed(status: 200)))
        }
    }

    /// Fetches records by identifier with the files of their assets, one request a zone.
    ///
    /// - Parameter progress: Gets how much of a record's files has come, below 1.
    /// - Throws: As `sendByZone(_:progress:deliver:)`.
    package func lookup(
        _ ids: [RecordID], desiredKeys: [String]?, progress: @escaping @Sendable (RecordID, Double) async -> Void,
        deliver: @Sendable ([FetchedItem]) async -> Void
    ) async throws {
        var series = ZoneFailurePolicy()
        for (zone, names) in Self.groupByZone(ids) {
            do {
                if let failure = series.end { throw failure }
                try Task.checkCancellation()
                let request = LookupRecordsRequest(
                    records: names.map { LookupRecordsRequest.Item(recordName: $0) }, zoneID: zone,
                    desiredKeys: desiredKeys)
                let outcomes = try await lookup(request)
                let items = await opened(outcomes, of: names, in: zone, desiredKeys: desiredKeys)
                let fetched = try await withFiles(items) { await progress(items[$0].id, $1) }
                series.answered()
                await deliver(fetched)
            } catch {
                let failure = try series.failed(CallFailure(error))
                await deliver(
                    names.map {
                        FetchedItem(id: RecordID(recordName: $0, zoneID: zone), result: .failure(failure))
                    })
            }
        }
    }

    /// The outcomes of a modification with their records opened, those of conflicts too.
    private func opened(_ outcomes: [BatchSealer.Outcome], of batch: ModifyPlan.Batch) async -> [ModifyItemOutcome] {
        let zone = batch.zoneID
        // The record of a conflict comes with all of its fields.
        let carried = zip(batch.items, outcomes).compactMap { item, outcome in
            outcome.anyRecord.map {
                (record: $0.placed(in: zone), wanted: outcome.isSaved ? item.operation.change.desiredKeys : nil)
            }
        }
        var records = await opened(carried.map(\.record), wanted: carried.map { $0.wanted.map(Set.init) })[...]
        return zip(batch.items, outcomes).map { item, outcome in
            let record = outcome.anyRecord == nil ? nil : records.popFirst()
            switch (outcome, item.isDeletion) {
            case (.success(.record), false): return ModifyItemOutcome(item: item, result: .success(record))
            case (.success(.deleted), true): return ModifyItemOutcome(item: item, result: .success(nil))
            case (.success(.failed(_, let refusal)), false) where refusal.code == .changedSinceSave && record != nil:
                return ModifyItemOutcome(item: item, result: .success(record), isOvertaken: true)
            case (.success(.failed(_, let refusal)), _):
                return ModifyItemOutcome(item: item, result: .failure(.refused(refusal)), serverRecord: record)
            case (.failure(let failure), _): return ModifyItemOutcome(item: item, result: .failure(failure))
            default: return ModifyItemOutcome(item: item, result: .failure(.answerMalformed(status: 200)))
            }
        }
    }

    /// The outcomes of a fetch with their records opened.
    private func opened(
        _ outcomes: [RecordOutcome], of names: [String], in zone: ZoneID, desiredKeys: [String]?
    ) async -> [FetchedItem] {
        let records = outcomes.compactMap { if case .record(let record) = $0 { record.placed(in: zone) } else { nil } }
        var opened = await opened(records, desiredKeys: desiredKeys)[...]
        return zip(names, outcomes).map { name, outcome in
            let id = RecordID(recordName: name, zoneID: zone)
            switch outcome {
            case .record:
                let record = opened.popFirst()
                return record.map { FetchedItem($0, in: address) }
                    ?? FetchedItem(id: id, result: .failure(.answerMalformed(status: 200)))
            case .failed(_, let refusal): return FetchedItem(id: id, result: .failure(.refused(refusal)))
            case .deleted:
                let failure = RequestFailure.recordNotFound
                return FetchedItem(id: id, result: .failure(.refused(failure)))
            }
        }
    }

    /// Each zone with its names, each name once, both in the order in which they came.
    private static func groupByZone(_ ids: [RecordID]) -> [(ZoneID, [String])] {
        var groups: [(ZoneID, [String])] = []
        var places: [ZoneID: Int] = [:]
        var seen: Set<RecordID> = []
        for id in ids where seen.insert(id).inserted {
            if let place = places[id.zoneID] {
                groups[place].1.append(id.recordName)
            } else {
                places[id.zoneID] = groups.count
                groups.append((id.zoneID, [id.recordName]))
            }
        }
        return groups
    }
}

/// Decides the effect of a failed request on an operation with several requests.
struct ZoneFailurePolicy: Sendable {
    private var hasAnswer = false
    /// The failure that makes further requests useless.
    private(set) var end: CallFailure?

    mutating func answered() { hasAnswer = true }

    /// - Returns: The failure of this request's items.
    /// - Throws: The failure, when it ends the whole operation.
    mutating func failed(_ failure: CallFailure) throws(CallFailure) -> CallFailure {
        if failure == .cancelled || !(hasAnswer || failure.concernsZone) { throw failure }
        hasAnswer = true
        if failure.concernsConnection { end = failure }
        return failure
    }
}

extension BatchSealer.Outcome {
    fileprivate var isSaved: Bool { if case .success(.record) = self { true } else { false } }

    /// The record that the outcome carries: the one saved, or the one that a conflict is about.
    fileprivate var anyRecord: Record? {
        switch self {
        case .success(.record(let record)): record
        case .success(.failed(_, let refusal)): refusal.serverRecord?.value
        case .success(.deleted), .failure: nil
        }
    }
}

extension Record {
    /// The record under the zone by which it was asked for: a user has several names (B-ZN-03), and the app looks for
    /// the one it used.
    fileprivate func placed(in zone: ZoneID) -> Record {
        var record = self
        record.id.zoneID = zone
        return record
    }
}

extension DatabaseRequests {
    /// Sends a plan zone by zone and returns the outcomes of all its items at once.
    package func sendByZone(_ plan: ModifyPlan) async throws -> [ModifyItemOutcome] {
        let all = Mutex<[ModifyItemOutcome]>([])
        try await sendByZone(plan, progress: { _, _ in }, deliver: { outcomes in all.withLock { $0 += outcomes } })
        return all.withLock { $0 }
    }

    /// Fetches records by identifier and gives them all at once.
    package func lookup(_ ids: [RecordID], desiredKeys: [String]?) async throws -> [FetchedItem] {
        let all = Mutex<[FetchedItem]>([])
        try await lookup(
            ids, desiredKeys: desiredKeys, progress: { _, _ in }, deliver: { items in all.withLock { $0 += items } })
        return all.withLock { $0 }
    }
}

extension RequestFailure {
    /// The failure of a record that there is not.
    static let recordNotFound = RequestFailure(.itemNotFound, "Record not found")
}
