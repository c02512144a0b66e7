import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer

/// One operation of a request, made ready before anything is read: names given, fields sorted, references taken out.
///
/// A class: each step of a save looks at it, and a copy counts the references of all its parts.
final class IncomingChange: Sendable {
    /// The position in the request.
    let position: Int
    let name: String
    let kind: RecordOperation.Kind
    let recordType: String?
    let tag: ChangeTag?
    /// Sorted by name; references in their stored form.
    let fields: [Field]
    let removed: Set<String>
    let parent: ParentChange
    /// References among `fields` and the new parent that the store has to know of.
    let references: [BackReference]
    /// The proofs that files among `fields` were uploaded for them, by file.
    let receipts: [AssetFileID: AssetReceipt]
    let shortGUID: String?
    /// The protection of the sealed values from now on; nil: as before.
    let protection: Protection?
    /// The change of a share; nil for every other record and for deletions.
    let share: IncomingShareChange?
    /// The fields wanted back; nil: all.
    let desired: Set<String>?
    /// The reason why the operation fails whatever the store holds; nil: none.
    let fault: RequestFailure?

    /// - Parameter desiredKeys: Those of the request, for operations that say nothing of it themselves.
    init(
        _ operation: RecordOperation, at position: Int, in place: DatabaseContext, zoneName: String,
        desiredKeys: [String]?, serverEnvironment: ServerEnvironment, seal: AssetSeal, limits: Limits
    ) {
        let change = operation.change
        self.position = position
        name = change.recordName ?? RecordName.random(serverEnvironment)
        let isShare = change.recordType == Validity.shareRecordType || change.share != nil
        kind = isShare ? operation.kind.checkingTag(change.changeTag) : operation.kind
        recordType = change.recordType
        tag = change.changeTag
        desired = (change.desiredKeys ?? desiredKeys).map(Set.init)
        shortGUID = change.createShortGUID ? serverEnvironment.randomHex(bytes: 16) : nil
        parent = kind.isDelete ? .keep : change.parent
        // Web services know nothing of keys.
        protection = place.caller.surface == .native && place.scope != .public ? change.protection : nil
        share =
            isShare && !kind.isDelete
            ? IncomingShareChange(change.share ?? ShareChange(), serverEnvironment: serverEnvironment) : nil
        removed = Set(change.fields.compactMap { if case .remove(let name) = $0 { name } else { nil } })
        var receipts: [AssetFileID: AssetReceipt] = [:]
        do throws(RequestFailure) {
            var fields = kind.isDelete ? [] : try Self.fields(of: change, in: place, zoneName)
            try Self.claimAssets(
                &fields, receipts: &receipts,
                purpose: AssetPurpose(
                    partition: place.partition, zoneName: zoneName, recordName: name, recordType: recordType,
                    fieldName: nil, user: place.caller.user), seal: seal)
            let references = try Self.references(of: fields, parent, holder: name)
            try Self.check(name, kind: kind, recordType: recordType, fields: fields, in: place, limits: limits)
            (self.fields, self.references, fault) = (fields, references, nil)
        } catch {
            (fields, references, fault) = ([], [], error)
        }
        self.receipts = receipts
    }

    private static func fields(
        of change: RecordChange, in place: DatabaseContext, _ zoneName: String
    ) throws(RequestFailure) -> [Field] {
        var fields: [Field] = []
        fields.reserveCapacity(change.fields.count)
        for case .set(let field) in change.fields {
            guard field.type.base == .reference, !field.type.isEncrypted else {
                fields.append(field)
                continue
            }
            fields.append(try field.withReferences(within: place.zoneID(zoneName), caller: place.owner))
        }
        return FieldMerge.sorted(fields)
    }

    private static func claimAssets(
        _ fields: inout [Field], receipts: inout [AssetFileID: AssetReceipt], purpose: AssetPurpose,
        seal: AssetSeal
    ) throws(RequestFailure) {
        for index in fields.indices where fields[index].type.base == .asset {
            var purpose = purpose
            purpose.fieldName = fields[index].name
            let claims = try IncomingAssets(fields[index], for: purpose, seal)
            fields[index] = claims.field
            for receipt in claims.receipts { receipts[receipt.id] = receipt }
        }
    }

    /// References that matter when their target goes; others may point anywhere (B-REF-02).
    static func references(
        of fields: [Field], _ parent: ParentChange, holder: String
    ) throws(RequestFailure) -> [BackReference] {
        var references: [BackReference] = []
        if case .set(let target) = parent {
            references.append(BackReference(target: target, kind: .parent, holder: holder, field: nil))
        }
        for field in fields where field.type.base == .reference && !field.type.isEncrypted {
            for reference in try field.references() {
                guard let kind = BackReference.Kind(reference.action) else { continue }
                references.append(
                    BackReference(target: reference.recordName, kind: kind, holder: holder, field: field.name))
            }
        }
        return references
    }

    private static func check(
        _ name: String, kind: RecordOperation.Kind, recordType: String?, fields: [Field],
        in place: DatabaseContext, limits: Limits
    ) throws(RequestFailure) {
        if kind.isDelete { return }
        // Whether the name is reserved for the system is decided when the record is found missing.
        try Validity.recordName(name, isSystem: true)
        try checkEncrypted(fields, in: place)
        guard Validity.recordBytes(fields) <= limits.recordBytesMax else { throw .recordTooLarge }
    }
}

extension IncomingChange {
    /// Rules B-ENC-01 and B-ENC-02.
    static func checkEncrypted(_ fields: [Field], in place: DatabaseContext) throws(RequestFailure) {
        for field in fields where field.type.isEncrypted {
            if place.scope == .public { throw .encryptedInPublic }
            guard field.type.isSealable else { throw .notSealable(field.type) }
        }
    }
}

extension RecordOperation.Kind {
    /// Returns the operation with the tag check that every save of a share has, whatever was requested (B-SAV-09).
    fileprivate func checkingTag(_ tag: ChangeTag?) -> Self {
        switch self {
        case .forceUpdate: tag == nil ? .create : .update
        case .forceReplace: tag == nil ? .create : .replace
        default: self
        }
    }
}

extension BackReference.Kind {
    init?(_ action: ReferenceValue.Action) {
        switch action {
        case .none: return nil
        case .deleteSelf: self = .deleteSelf
        case .validate: self = .validate
        }
    }
}

extension RequestFailure {
    /// B-LIM-05.
    static let recordTooLarge = RequestFailure(
        .sizeLimitExceeded, "record too large", remedy: "Move large values into assets.")
}

/// Names of records that came without one.
enum RecordName {
    /// Returns a random UUID (B-REC-09).
    static func random(_ serverEnvironment: ServerEnvironment) -> String { serverEnvironment.randomUUID() }
}
