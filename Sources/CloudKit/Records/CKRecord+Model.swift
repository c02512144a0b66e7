import CloudKitModel
import Foundation

// The edge between the app's objects and what the other rooms work with; a record passes it once each way.
extension CKRecord {
    /// What a save sends of this record.
    ///
    /// - Parameters:
    ///   - checksTag: Whether the server compares the change tag: save policy `ifServerRecordUnchanged`, and every
    ///     share (B-SAV-09).
    ///   - allKeys: Whether unchanged fields are sent too: save policy `allKeys` (B-SAV-06).
    ///   - uploaded: What the server knows of an asset after its upload.
    /// - Throws: `CKError.invalidArguments` for a value that cannot be sent.
    func saveOperation(
        checksTag: Bool, allKeys: Bool, uploaded: @escaping (CKAsset) -> AssetValue? = { $0.stored }
    ) throws(CKError) -> RecordOperation {
        let kind: RecordOperation.Kind = checksTag ? (system.changeTag == nil ? .create : .update) : .forceUpdate
        let change = RecordChange(
            recordName: recordID.recordName, recordType: recordType,
            fields: try fieldChanges(allKeys: allKeys, uploaded: uploaded),
            changeTag: system.changeTag.map(ChangeTag.init), parent: parentChange(always: allKeys))
        return RecordOperation(kind, change)
    }

    /// The fields to set and the removals, sorted by name (B-REC-02).
    func fieldChanges(
        allKeys: Bool, uploaded: @escaping (CKAsset) -> AssetValue? = { $0.stored }
    ) throws(CKError) -> [FieldChange] {
        guard encrypted.fields.changedKeys.isEmpty else {
            throw CKError.invalidArguments(
                "Encrypted values cannot be saved yet; nothing was sent, so that nothing is lost in silence")
        }
        let conversion = FieldConversion(zoneID: recordID.zoneID, uploaded: uploaded)
        let keys = allKeys ? fields.changedKeys.union(fields.values.keys) : fields.changedKeys
        var changes: [FieldChange] = []
        changes.reserveCapacity(keys.count)
        for key in keys.sorted() {
            if let value = fields.values[key] {
                changes.append(.set(try Self.field(key, try conversion.value(of: value, key: key))))
            } else {
                changes.append(.remove(name: key))
            }
        }
        return changes
    }

    private static func field(_ key: String, _ value: FieldValue) throws(CKError) -> Field {
        do {
            return try Field(name: key, value: value)
        } catch {
            throw CKError(error)
        }
    }

    private func parentChange(always: Bool) -> ParentChange {
        guard parentChanged || (always && system.parent != nil) else { return .keep }
        return system.parent.map { .set(recordName: $0.recordID.recordName) } ?? .remove
    }

    /// The assets that have to be uploaded before the record can be saved (B-AST-03): new ones in the fields to send.
    func assetsToUpload(allKeys: Bool) -> [(key: String, asset: CKAsset)] {
        let keys = allKeys ? Set(fields.values.keys) : fields.changedKeys
        return keys.sorted().flatMap { key in
            let assets: [CKAsset] =
                switch fields.values[key] {
                case let asset as CKAsset: [asset]
                case let list as NSArray: list.compactMap { $0 as? CKAsset }
                default: []
                }
            return assets.filter { $0.stored == nil }.map { (key, $0) }
        }
    }

    /// A record as the server answered it.
    ///
    /// - Parameter file: Where the bytes of an asset lie; nil leaves its `fileURL` empty.
    /// - Throws: `CKError.internalError` when a field cannot be read.
    convenience init(_ record: Record, file: @escaping (AssetValue) -> URL? = { _ in nil }) throws(CKError) {
        let system = RecordSystemFields(record)
        let fields = RecordFields(values: try Self.objects(of: record, in: system.recordID.zoneID, file: file))
        self.init(
            state: RecordState(
                system: system, ancestorSystem: system, fields: fields, encrypted: RecordFields(),
                sealedFields: record.fields.filter(\.type.isEncrypted), parentChanged: false))
    }

    /// Takes over what the server answered to a save of this record (B-REC-07).
    ///
    /// - Parameter sent: The record's state when it was sent; what the app changed since stays changed.
    func acknowledge(_ saved: Record, sent: RecordState) throws(CKError) {
        let received = try Self.objects(of: saved, in: recordID.zoneID, file: { _ in nil })
        let parentChangedSince = system.parent != sent.system.parent
        let parent = system.parent
        system = RecordSystemFields(saved)
        // The app's own spelling of the ID stays, so that what it keeps under that ID is found again.
        system.recordID = sent.system.recordID
        ancestorSystem = system
        if parentChangedSince { system.parent = parent }
        parentChanged = parentChangedSince
        fields.acknowledge(sent: sent.fields, received: received)
        let sealed = saved.fields.filter(\.type.isEncrypted)
        if !sealed.isEmpty { sealedFields = sealed }
    }

    /// The record as it was when it was last fetched, decoded or saved (B-SAV-07, B-SAV-08).
    var ancestor: CKRecord {
        CKRecord(
            state: RecordState(
                system: ancestorSystem, ancestorSystem: ancestorSystem, fields: RecordFields(values: fields.original),
                encrypted: RecordFields(values: encrypted.fields.original), sealedFields: sealedFields,
                parentChanged: false))
    }

    private static func objects(
        of record: Record, in zoneID: CKRecordZone.ID, file: @escaping (AssetValue) -> URL?
    ) throws(CKError) -> [String: any StoredValue] {
        let conversion = FieldConversion(zoneID: zoneID, file: file)
        var values: [String: any StoredValue] = [:]
        values.reserveCapacity(record.fields.count)
        for field in record.fields where !field.type.isEncrypted {
            do {
                values[field.name] = conversion.object(of: try field.value())
            } catch {
                throw CKError.failure(
                    .internalError, reason: "The server sent a field '\(field.name)' that cannot be read")
            }
        }
        return values
    }
}

extension RecordSystemFields {
    init(_ record: Record) {
        self.init(
            recordType: record.recordType.isEmpty ? "?" : record.recordType, recordID: CKRecordID(record.id))
        changeTag = record.changeTag.value
        creationDate = FieldConversion.date(record.created.timestamp)
        creator = Self.user(record.created.user)
        modificationDate = FieldConversion.date(record.modified.timestamp)
        modifier = Self.user(record.modified.user)
        parent = record.parent.map {
            CKReference(recordID: CKRecordID(named: $0, in: recordID.zoneID), action: .none)
        }
        share = record.share.map {
            CKReference(recordID: CKRecordID(named: $0, in: recordID.zoneID), action: .none)
        }
    }

    /// Users are records of the default zone (B-USR-02).
    private static func user(_ user: UserID) -> CKRecord.ID? {
        user.recordName.isEmpty ? nil : CKRecordID(recordName: user.recordName)
    }
}
