import CloudKitClient
import CloudKitModel
import Foundation

/// The way in which a save treats the copy that the server holds.
struct SaveRule: Hashable, Sendable {
    /// Whether the save is refused when the server holds another version (B-SAV-02).
    var checksTag: Bool
    /// Whether unchanged fields are sent too (B-SAV-06).
    var sendsAllKeys: Bool
}

/// The records of a modification before and after the request; maps outcomes to the app's records.
///
/// Stays with the caller that holds the records; only its plan is sent.
struct RecordModification {
    let plan: ModifyPlan
    private let records: [CKRecord]
    /// Copies of the records as they were sent, for conflicts and for edits made meanwhile.
    private let sent: [CKRecord]
    private let recordIDs: [CKRecord.ID]
    private let address: DatabaseAddress?
    private let reportsOvertakenAsSent: Bool

    /// - Parameter reportsOvertakenAsSent: Whether the result of a save whose record others have changed since (B-THR-07) is the record as it
    ///   was sent, in place of the record as it is now.
    /// - Throws: `CallFailure.limitExceeded`, `.invalidArguments` (B-LIM-01, B-BAT-07, B-BAT-08), also for a value that cannot
    ///   be sent, or not to this database.
    init(
        saving records: [CKRecord], deleting recordIDs: [CKRecord.ID],
        rule: SaveRule, isAtomic: Bool, scope: DatabaseScope,
        clientChangeToken: [UInt8]? = nil, address: DatabaseAddress? = nil, reportsOvertakenAsSent: Bool = false
    ) throws(CallFailure) {
        self.address = address
        self.reportsOvertakenAsSent = reportsOvertakenAsSent
        self.records = records
        self.recordIDs = recordIDs
        var saves: [ModifyPlan.Item] = []
        saves.reserveCapacity(records.count)
        var sent: [CKRecord] = []
        sent.reserveCapacity(records.count)
        for record in records {
            // A copy of a record is a record. It is made at once, as the app may change its own meanwhile.
            let copy = record.copy() as? CKRecord ?? record
            var item = try ModifyPlan.Item(record, rule, scope: scope)
            if item.secrets != nil {
                let whole = SaveRule(checksTag: true, sendsAllKeys: true)
                item.whole = { try? ModifyPlan.Item(copy, whole, scope: scope) }
            }
            saves.append(item)
            sent.append(copy)
        }
        self.sent = sent
        plan = try ModifyPlan(
            saves: saves, deletes: recordIDs.map(\.model), isAtomic: isAtomic, scope: scope,
            clientChangeToken: clientChangeToken)
    }

    /// The app's own object at a place of the list to save.
    func record(at index: Int) -> CKRecord { records[index] }

    /// Turns outcomes into the app's results, one after the other, and updates the app's own records (B-REC-07).
    ///
    /// - Parameters:
    ///   - saved: Receives a record as the app provided it, and the result.
    ///   - deleted: Receives the identifier of a record to delete, and the result.
    func resolve(
        _ outcomes: [ModifyItemOutcome], saved: (CKRecord, Result<CKRecord, any Error>) -> Void,
        deleted: (CKRecord.ID, Result<Void, any Error>) -> Void
    ) {
        for outcome in outcomes {
            let position = outcome.item.position
            if outcome.item.isDeletion {
                let id = recordIDs[position]
                deleted(id, outcome.result.map { _ in () }.asError(.deletingRecord(id)))
            } else {
                saved(records[position], result(outcome, of: records[position], sent: sent[position]))
            }
        }
    }

    /// Returns the app's result of a save, and updates the app's own record.
    private func result(
        _ outcome: ModifyItemOutcome, of record: CKRecord, sent: CKRecord
    ) -> Result<CKRecord, any Error> {
        do {
            guard let saved = try outcome.result.get() else { throw CallFailure.answerMalformed(status: 200) }
            let asset = { self.asset(saved, at: $0, $1, of: outcome, sent: sent) }
            try record.acknowledge(saved, sent: sent.state, isOvertaken: outcome.isOvertaken, asset: asset)
            if let share = record as? CKShare, let sharing = saved.record.sharing {
                let saved = SharingState(sharing, link: saved.link)
                let sharingSent = (sent as? CKShare)?.sharing.content
                share.revise { $0.acknowledge(saved, sent: sharingSent ?? $0.content) }
            }
            if outcome.isOvertaken, reportsOvertakenAsSent { return .success(sent) }
            return .success(
                outcome.item.isKnownWhole && !outcome.isOvertaken
                    ? try Self.whole(saved, sent: sent) : try CKRecord.answered(saved, asset: asset))
        } catch CallFailure.refused(let refusal) {
            return .failure(CKError(refusal, saving: sent, server: outcome.serverRecord))
        } catch let failure as CallFailure {
            return .failure(CKError(failure))
        } catch {
            return .failure(error)
        }
    }

    /// Returns the saved record with the fields that were sent and the server's metadata.
    private static func whole(_ saved: OpenedRecord, sent: CKRecord) throws(CKError) -> CKRecord {
        let record = sent.copy() as? CKRecord ?? sent
        try record.acknowledge(saved, sent: sent.state)
        return record
    }

    /// Returns an asset of the saved record, with the app's own file where that was saved and nobody has replaced it since.
    private func asset(
        _ saved: OpenedRecord, at slot: AssetSlot, _ value: AssetValue, of outcome: ModifyItemOutcome, sent: CKRecord
    ) -> CKAsset {
        let kept = saved.kept(value, at: slot, in: address)
        guard let own = sent.fields.asset(at: slot) else { return CKAsset(kept) }
        let isSent = outcome.item.assets.contains { $0.name == slot.field }
        if isSent, !outcome.isOvertaken || outcome.item.fileChecksums[slot] == value.fileChecksum {
            own.note(saved: kept)
        } else if own.lastKept?.value.fileChecksum != value.fileChecksum {
            return CKAsset(kept)
        }
        return CKAsset(kept, contentsOf: own)
    }
}

extension ModifyPlan.Item {
    /// Creates the item that saves a record.
    ///
    /// - Throws: `CallFailure.invalidArguments` for a value that cannot be sent, or not to this database.
    fileprivate init(_ record: CKRecord, _ rule: SaveRule, scope: DatabaseScope) throws(CallFailure) {
        var operation: RecordOperation
        var secrets: RecordSecrets?
        do throws(CKError) {
            // A share is always saved with the tag check (B-SAV-09).
            let checksTag = rule.checksTag || record.recordType == CKRecord.SystemType.share
            operation = try record.saveOperation(checksTag: checksTag, allKeys: rule.sendsAllKeys)
            secrets = try record.secrets(allKeys: rule.sendsAllKeys)
            operation.change.share = try (record as? CKShare)?.sharing.change()
        } catch {
            throw .invalidArguments(error.localizedDescription)
        }
        if scope == .public {
            // B-ENC-02.
            if let field = secrets?.fields.first {
                throw .invalidArguments(
                    "Field '\(field.name)': encryptedValues are not supported in the public database")
            }
            secrets = nil
        }
        let assets = record.assetFields(allKeys: rule.sendsAllKeys)
        if operation.kind == .create, assets.isEmpty, !(record is CKShare) { operation.change.desiredKeys = [] }
        self.init(
            id: record.recordID.model, operation: operation, owners: Self.owners(of: record), secrets: secrets,
            assets: assets, heldAssets: assets.isEmpty ? [] : record.heldAssets)
    }

    /// A Boolean value that indicates whether the response omits the fields: this device knows all fields of a new record.
    fileprivate var isKnownWhole: Bool { operation.change.desiredKeys?.isEmpty ?? false }

    /// Returns the names of the records of the same zone whose deletion deletes the record as well (B-REF-07).
    private static func owners(of record: CKRecord) -> [String] {
        record.allKeys().flatMap { key -> [CKRecord.Reference] in
            switch record.fields.values[key] {
            case let reference as CKRecord.Reference: [reference]
            case let list as NSArray: list.compactMap { $0 as? CKRecord.Reference }
            default: []
            }
        }.filter { $0.action == .deleteSelf }.map(\.recordID.recordName)
    }
}
