import CloudKitClient
import CloudKitModel
import Foundation

// The boundary between the app's objects and the values of the other modules; a record crosses it once in each
// direction.
extension CKRecord {
    /// Returns the operation that saves this record.
    ///
    /// - Parameters:
    ///   - checksTag: Whether the server compares the change tag: save policy `ifServerRecordUnchanged`, and every
    ///     share (B-SAV-09).
    ///   - allKeys: Whether unchanged fields are sent too: save policy `allKeys` (B-SAV-06).
    /// - Returns: The operation without its asset fields, which `assetFields(allKeys:)` returns.
    /// - Throws: `CKError.invalidArguments` for a value that cannot be sent.
    func saveOperation(checksTag: Bool, allKeys: Bool) throws(CKError) -> RecordOperation {
        let kind: RecordOperation.Kind = checksTag ? (system.changeTag == nil ? .create : .update) : .forceUpdate
        let change = RecordChange(
            recordName: recordID.recordName, recordType: recordType,
            fields: try fieldChanges(allKeys: allKeys),
            changeTag: system.changeTag.map(ChangeTag.init), parent: parentChange(always: allKeys))
        return RecordOperation(kind, change)
    }

    /// The fields to set as they are, and the removals, sorted by name (B-REC-02). Encrypted values to set are not among
    /// them: `secrets`; nor are fields of assets: `assetFields`.
    ///
    /// - Throws: `CKError.invalidArguments` for a name that is both plain and encrypted (B-ENC-05).
    func fieldChanges(allKeys: Bool) throws(CKError) -> [FieldChange] {
        let state = self.state
        let (fields, sealed) = (state.fields, state.encrypted)
        try Self.checkNames(fields, sealed, allKeys: allKeys)
        let conversion = FieldConverter(zoneID: state.system.recordID.zoneID)
        let keys = fields.keysToSend(all: allKeys)
        let removed = sealed.changedKeys.filter { sealed.values[$0] == nil }
        var changes: [FieldChange] = []
        changes.reserveCapacity(keys.count + removed.count)
        for key in keys.union(removed).sorted() {
            if let value = fields.values[key] {
                guard AssetField(key, value) == nil else { continue }
                changes.append(.set(try Self.field(key, try conversion.value(of: value, key: key))))
            } else {
                changes.append(.remove(name: key))
            }
        }
        return changes
    }

    /// Returns the values to seal before the record is sent; nil: none.
    ///
    /// - Throws: `CKError.invalidArguments` for a value that cannot be encrypted (B-ENC-01).
    func secrets(allKeys: Bool) throws(CKError) -> RecordSecrets? {
        let state = self.state
        let (system, sealed) = (state.system, state.encrypted)
        let conversion = FieldConverter(zoneID: system.recordID.zoneID)
        var plain: [Field] = []
        for key in sealed.keysToSend(all: allKeys).sorted() {
            guard let value = sealed.values[key] else { continue }
            guard AssetField(key, value) == nil else {
                throw CKError.invalidArguments(
                    "Field '\(key)' of encryptedValues holds an asset; set it on the record, assets are encrypted anyway"
                )
            }
            let field = try Self.field(key, try conversion.value(of: value, key: key))
            guard field.type.isSealable else {
                throw CKError.invalidArguments(
                    "Field '\(key)' of encryptedValues holds a reference, which cannot be encrypted")
            }
            plain.append(ExactDate.field(field, of: value) ?? field)
        }
        // The wrap of a record's key under its parent's makes the record part of the parent's tree, whatever it
        // contains.
        let hasWrap = system.protection.map { !$0.keys.isEmpty } ?? false
        let isShared = system.share != nil && system.share != state.ancestorSystem.share
        // A statement of the record names its parent and everything sealed; among removed fields may be files.
        let isStated = system.protection.map { !$0.statement.isEmpty } ?? false
        let isRemoving = state.fields.changedKeys.contains { state.fields.values[$0] == nil }
        let changesStated = state.parentChanged || isRemoving || !sealed.changedKeys.isEmpty
        guard
            !plain.isEmpty || isStated && changesStated || isShared || !assetFields(allKeys: allKeys).isEmpty
                || (state.parentChanged && (system.parent != nil || hasWrap))
        else { return nil }
        return RecordSecrets(
            fields: plain, recordType: recordType, parent: system.parent?.recordID.recordName,
            share: isShared ? nil : system.share?.recordID.recordName, isMoved: state.parentChanged || isShared,
            held: system.protection, created: system.created)
    }

    private static func checkNames(
        _ fields: RecordFields, _ sealed: RecordFields, allKeys: Bool
    ) throws(CKError) {
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
        let state = self.state
        let system = state.system
        guard state.parentChanged || (always && system.parent != nil) else { return .keep }
        return system.parent.map { .set(recordName: $0.recordID.recordName) } ?? .remove
    }

    /// The fields of assets to send, sorted by name; their files may have to be uploaded first (B-AST-03).
    func assetFields(allKeys: Bool) -> [AssetField] {
        let fields = self.fields
        let keys = allKeys ? Set(fields.values.keys) : fields.changedKeys
        return keys.sorted().compactMap { key in fields.values[key].flatMap { AssetField(key, $0) } }
    }

    /// A record as the server answered it.
    ///
    /// - Parameter asset: The object for an asset; by default one without a file.
    /// - Throws: `CKError.internalError` when a field cannot be read; the error of a value that does not open (B-TM-12).
    convenience init(
        _ opened: OpenedRecord, asset: ((AssetSlot, AssetValue) -> CKAsset)? = nil
    ) throws(CKError) {
        self.init(state: try Self.state(of: opened, asset: asset))
    }

    static func state(
        of opened: OpenedRecord, asset: ((AssetSlot, AssetValue) -> CKAsset)?
    ) throws(CKError) -> RecordState {
        let record = opened.record
        let system = RecordSystemFields(record)
        let zoneID = system.recordID.zoneID
        let secrets = try Self.secrets(of: opened)
        let asset = asset ?? { CKAsset(opened.kept($1, at: $0)) }
        return RecordState(
            system, fields: RecordFields(values: try Self.objects(of: record.fields, in: zoneID, asset)),
            encrypted: RecordFields(values: try Self.objects(of: secrets, in: zoneID, asset)))
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
            throw CKError(error, operation: .fetchingRecord(CKRecordID(opened.record.id)))
        }
    }

    /// Updates the record from the server's answer to a save (B-REC-07).
    ///
    /// - Parameters:
    ///   - sent: The record's state when it was sent; changes that the app made since are kept.
    ///   - isOvertaken: Whether others have changed the record since it was saved, so that the answer has their values.
    ///   - asset: The object for an asset; by default one without a file.
    func acknowledge(
        _ opened: OpenedRecord, sent: RecordState, isOvertaken: Bool = false,
        asset: ((AssetSlot, AssetValue) -> CKAsset)? = nil
    ) throws(CKError) {
        let saved = opened.record
        let asset = asset ?? { CKAsset(opened.kept($1, at: $0)) }
        let received = try Self.objects(of: saved.fields, in: recordID.zoneID, asset)
        let secrets = try Self.objects(of: try Self.secrets(of: opened), in: recordID.zoneID, asset)
        content.revise { state in
            let parent = state.system.parent
            state.parentChanged = parent != sent.system.parent
            state.system = RecordSystemFields(saved)
            // The app's own spelling of the ID stays, so that what it keeps under that ID is found again.
            state.system.recordID = sent.system.recordID
            state.ancestorSystem = state.system
            if state.parentChanged { state.system.parent = parent }
            state.fields.acknowledge(sent: sent.fields, received: received, isOvertaken: isOvertaken)
            state.encrypted.acknowledge(sent: sent.encrypted, received: secrets, isOvertaken: isOvertaken)
        }
    }

    /// The record as it was when it was last fetched, decoded or saved (B-SAV-07, B-SAV-08).
    var ancestor: CKRecord {
        let state = self.state
        return ancestor(
            RecordState(
                state.ancestorSystem, fields: RecordFields(values: state.fields.original),
                encrypted: RecordFields(values: state.encrypted.original)))
    }

    private static func objects(
        of fields: [Field], in zoneID: CKRecordZoneID, _ asset: @escaping (AssetSlot, AssetValue) -> CKAsset
    ) throws(CKError) -> [String: any StoredValue] {
        let conversion = FieldConverter(zoneID: zoneID, asset: asset)
        var values: [String: any StoredValue] = [:]
        values.reserveCapacity(fields.count)
        for field in fields where !field.type.isEncrypted {
            do {
                values[field.name] =
                    try ExactDate.object(of: field) ?? conversion.object(of: try field.value(), key: field.name)
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
        creationDate = FieldConverter.date(record.created.timestamp)
        creator = Self.user(record.created.user)
        modificationDate = FieldConverter.date(record.modified.timestamp)
        modifier = record.modified.user == record.created.user ? creator : Self.user(record.modified.user)
        parent = record.parent.map {
            CKReference(recordID: CKRecordID(named: $0, in: recordID.zoneID), action: .none)
        }
        protection = record.protection
        share = record.share.map {
            CKReference(recordID: CKRecordID(named: $0, in: recordID.zoneID), action: .none)
        }
    }

    /// The record's creation as the server reported it; nil: it has not.
    fileprivate var created: Stamp? {
        // A damaged archive may hold any date.
        guard let creationDate, let creator,
            let timestamp = Int64(exactly: (creationDate.timeIntervalSince1970 * 1000).rounded())
        else { return nil }
        return Stamp(timestamp: timestamp, user: UserID(creator.recordName))
    }

    /// Users are records of the default zone (B-USR-02).
    private static func user(_ user: UserID) -> CKRecord.ID? {
        user.recordName.isEmpty ? nil : CKRecordID(recordName: user.recordName)
    }
}
