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

/// A record as it was when it was sent: the parts that the plan needs and that its outcome is compared with.
struct SentRecord {
    let save: ModifyPlan.Save
    private let copy: CKRecord
    /// The share's content as it was sent.
    private let sharingSent: SharingState.Content?
    /// A Boolean value that indicates whether the response omits the fields: this device knows all fields of a new
    /// record.
    private let isKnownWhole: Bool

    /// - Throws: `CallFailure.invalidArguments` for a value that cannot be sent, or not to this database.
    init(
        _ record: CKRecord, _ rule: SaveRule, scope: DatabaseScope
    ) throws(CallFailure) {
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
        let assets = RecordAssets(record, allKeys: rule.sendsAllKeys)
        isKnownWhole = operation.kind == .create && assets.fields.isEmpty && !(record is CKShare)
        if isKnownWhole { operation.change.desiredKeys = [] }
        save = ModifyPlan.Save(
            id: record.recordID.model, operation: operation, owners: Self.owners(of: record), secrets: secrets,
            assets: assets)
        sharingSent = (record as? CKShare)?.sharing.content
        // A copy of a record is a record.
        copy = record.copy() as? CKRecord ?? record
    }

    /// Turns the outcome of the save into the app's result.
    ///
    /// - Parameters:
    ///   - record: The app's own object, updated from the response (B-REC-07).
    ///   - address: The database in which it was saved.
    func resolve(
        _ outcome: ModifyItemOutcome, _ record: CKRecord, in address: DatabaseAddress?
    ) -> Result<CKRecord, any Error> {
        do {
            guard let saved = try outcome.result.get() else { throw CallFailure.answerMalformed(status: 200) }
            let asset = { self.asset(saved, at: $0, $1, in: address) }
            try record.acknowledge(saved, sent: copy.state, asset: asset)
            if let share = record as? CKShare, let sharing = saved.record.sharing {
                let saved = SharingState(sharing, link: saved.link)
                share.revise { $0.acknowledge(saved, sent: sharingSent ?? $0.content) }
            }
            return .success(isKnownWhole ? try whole(saved) : try CKRecord.answered(saved, asset: asset))
        } catch CallFailure.refused(let refusal) {
            return .failure(CKError(refusal, saving: copy, server: outcome.serverRecord))
        } catch let failure as CallFailure {
            return .failure(CKError(failure))
        } catch {
            return .failure(error)
        }
    }

    /// Returns the saved record with the fields that were sent and the server's metadata.
    private func whole(_ saved: OpenedRecord) throws(CKError) -> CKRecord {
        let record = copy.copy() as? CKRecord ?? copy
        try record.acknowledge(saved, sent: copy.state)
        return record
    }

    /// Returns an asset of the saved record, with the app's own file where that was saved.
    private func asset(
        _ saved: OpenedRecord, at slot: AssetSlot, _ value: AssetValue, in address: DatabaseAddress?
    ) -> CKAsset {
        let kept = saved.kept(value, at: slot, in: address)
        guard let own = copy.fields.asset(at: slot) else { return CKAsset(kept) }
        if save.assets.fields.contains(where: { $0.name == slot.field }) {
            own.note(saved: kept)
        } else if own.lastKept?.value.fileChecksum != value.fileChecksum {
            return CKAsset(kept)
        }
        return CKAsset(kept, contentsOf: own)
    }

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
