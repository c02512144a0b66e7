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

    /// The fields to set as they are, and the removals, sorted by name (B-REC-02). Encrypted values to set are not among
    /// them: `secrets`.
    ///
    /// - Throws: `CKError.invalidArguments` for a name that is both plain and encrypted (B-ENC-05).
    func fieldChanges(
        allKeys: Bool, uploaded: @escaping (CKAsset) -> AssetValue? = { $0.stored }
    ) throws(CKError) -> [FieldChange] {
        try checkNames(allKeys: allKeys)
        let conversion = FieldConversion(zoneID: recordID.zoneID, uploaded: uploaded)
        let keys = fields.keysToSend(all: allKeys)
        let removed = encrypted.fields.changedKeys.filter { encrypted.fields.values[$0] == nil }
        var changes: [FieldChange] = []
        changes.reserveCapacity(keys.count + removed.count)
        for key in keys.union(removed).sorted() {
            if let value = fields.values[key] {
                changes.append(.set(try Self.field(key, try conversion.value(of: value, key: key))))
            } else {
                changes.append(.remove(name: key))
            }
        }
        return changes
    }

    /// What has to be sealed before the record is sent; nil: nothing.
    ///
    /// - Throws: `CKError.invalidArguments` for a value that cannot be encrypted (B-ENC-01).
    func secrets(allKeys: Bool) throws(CKError) -> RecordSecrets? {
        let conversion = FieldConversion(zoneID: recordID.zoneID)
        var plain: [Field] = []
        for key in encrypted.fields.keysToSend(all: allKeys).sorted() {
            guard let value = encrypted.fields.values[key] else { continue }
            let field = try Self.field(key, try conversion.value(of: value, key: key))
            guard field.type.isSealable else {
                throw CKError.invalidArguments(
                    field.type.base == .asset
                        ? "Field '\(key)' of encryptedValues holds an asset; set it on the record, assets are encrypted anyway"
                        : "Field '\(key)' of encryptedValues holds a reference, which cannot be encrypted")
            }
            plain.append(field)
        }
        // The wrap of a record's key under its parent's makes the record part of the parent's tree, whatever it holds.
        let hasWrap = system.protection.map { !$0.keys.isEmpty } ?? false
        guard !plain.isEmpty || (parentChanged && (system.parent != nil || hasWrap)) else { return nil }
        return RecordSecrets(
            fields: plain, recordType: recordType, parent: system.parent?.recordID.recordName, isMoved: parentChanged,
            held: system.protection)
    }

    private func checkNames(allKeys: Bool) throws(CKError) {
        let sealed = encrypted.fields
        guard !sealed.isEmpty else { return }
        for key in sealed.keysToSend(all: allKeys).union(sealed.values.keys).sorted() {
            let isPlain = fields.values[key] != nil
            let isEncrypted = sealed.values[key] != nil
            guard
                isPlain && sealed.changedKeys.contains(key) || isEncrypted && fields.changedKeys.contains(key)
                    || isPlain && isEncrypted
            else { continue }
            throw CKError.invalidArguments(
                "Field '\(key)' is set both on the record and in encryptedValues; a name is either plain or encrypted")
        }
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
    /// - Throws: `CKError.internalError` when a field cannot be read; the error of a value that does not open (B-TM-12).
    convenience init(_ opened: OpenedRecord, file: @escaping (AssetValue) -> URL? = { _ in nil }) throws(CKError) {
        let record = opened.record
        let system = RecordSystemFields(record)
        let zoneID = system.recordID.zoneID
        let secrets = try Self.secrets(of: opened)
        self.init(
            state: RecordState(
                system: system, ancestorSystem: system,
                fields: RecordFields(values: try Self.objects(of: record.fields, in: zoneID, file: file)),
                encrypted: RecordFields(values: try Self.objects(of: secrets, in: zoneID, file: file)),
                parentChanged: false))
    }

    /// The plain values of the encrypted fields of an answer.
    private static func secrets(of opened: OpenedRecord) throws(CKError) -> [Field] {
        do throws(CallFailure) {
            let values = try opened.values.get()
            // Nothing that came sealed gets lost on the way.
            guard values.count == opened.record.fields.count(where: \.type.isEncrypted) else {
                throw .keysMissing("Record '\(opened.record.id.recordName)' was not opened")
            }
            return values
        } catch {
            throw CKError(error, deed: .fetchingRecord(CKRecordID(opened.record.id)))
        }
    }

    /// Takes over what the server answered to a save of this record (B-REC-07).
    ///
    /// - Parameter sent: The record's state when it was sent; what the app changed since stays changed.
    func acknowledge(_ opened: OpenedRecord, sent: RecordState) throws(CKError) {
        let saved = opened.record
        let received = try Self.objects(of: saved.fields, in: recordID.zoneID, file: { _ in nil })
        let secrets = try Self.objects(
            of: try Self.secrets(of: opened), in: recordID.zoneID, file: { _ in nil })
        let parentChangedSince = system.parent != sent.system.parent
        let parent = system.parent
        system = RecordSystemFields(saved)
        // The app's own spelling of the ID stays, so that what it keeps under that ID is found again.
        system.recordID = sent.system.recordID
        ancestorSystem = system
        if parentChangedSince { system.parent = parent }
        parentChanged = parentChangedSince
        fields.acknowledge(sent: sent.fields, received: received)
        encrypted.fields.acknowledge(sent: sent.encrypted, received: secrets)
    }

    /// The record as it was when it was last fetched, decoded or saved (B-SAV-07, B-SAV-08).
    var ancestor: CKRecord {
        CKRecord(
            state: RecordState(
                system: ancestorSystem, ancestorSystem: ancestorSystem, fields: RecordFields(values: fields.original),
                encrypted: RecordFields(values: encrypted.fields.original), parentChanged: false))
    }

    private static func objects(
        of fields: [Field], in zoneID: CKRecordZone.ID, file: @escaping (AssetValue) -> URL?
    ) throws(CKError) -> [String: any StoredValue] {
        let conversion = FieldConversion(zoneID: zoneID, file: file)
        var values: [String: any StoredValue] = [:]
        values.reserveCapacity(fields.count)
        for field in fields where !field.type.isEncrypted {
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
        protection = record.protection
        share = record.share.map {
            CKReference(recordID: CKRecordID(named: $0, in: recordID.zoneID), action: .none)
        }
    }

    /// Users are records of the default zone (B-USR-02).
    private static func user(_ user: UserID) -> CKRecord.ID? {
        user.recordName.isEmpty ? nil : CKRecordID(recordName: user.recordName)
    }
}
