import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Plans the changes of a batch one after the other, each without regard to its references.
///
/// Checked in this order: the request by itself, existence and change tag, the type's grants, the schema, the keys of
/// sealed values, size, quota.
struct ChangePlanner {
    private let batch: ChangeBatch
    private let keyEpoch: UInt32
    /// What counts as the last statement of a deleted record of which the zone has no tombstone; nil: none is known.
    private let deletedStatement: LastStatement?
    private let assets: AssetPlanner
    private(set) var growth: SchemaGrowth
    /// Stored bytes of the database, including assets and the changes planned so far.
    private var databaseBytes: UInt64

    /// - Parameter assetBytes: Bytes of the assets that the database's records hold; 0 where there is no quota.
    init(
        batch: ChangeBatch, database: DatabaseHeader, zone: ZoneHeader, assets: AssetPlanner, assetBytes: UInt64,
        growth: SchemaGrowth
    ) {
        self.batch = batch
        keyEpoch = zone.keyEpoch
        deletedStatement =
            zone.statementFloor > 0 ? LastStatement(version: zone.statementFloor, tag: []) : nil
        self.assets = assets
        self.growth = growth
        databaseBytes = database.recordBytes + assetBytes
    }

    /// - Parameter held: The record that the zone holds under the name, or its tombstone.
    mutating func draft(_ item: IncomingChange, held: StoredRecord?) throws -> PlannedChange {
        if let fault = item.fault { return .failed(fault) }
        let live = held.flatMap { $0.isTombstone ? nil : $0 }
        do {
            return item.kind.isDelete
                ? try deletion(item, live) : .save(try save(item, previous: held, held: live))
        } catch let failure as RequestFailure {
            return .failed(try failure.withServerRecord(live, in: batch))
        }
    }

    private func deletion(_ item: IncomingChange, _ held: StoredRecord?) throws -> PlannedChange {
        switch DeletionDecision(item.kind, tag: item.tag, held: held?.changeTag) {
        case .refuse(let failure): throw failure
        case .alreadyGone: return .alreadyGone
        case .delete: break
        }
        guard let held else { return .alreadyGone }
        try checkGrant(.write, held.recordType, creator: held.created.user)
        return .delete(try PlannedDeletion(held))
    }

    private mutating func save(
        _ item: IncomingChange, previous: StoredRecord?, held: StoredRecord?
    ) throws -> PlannedSave {
        let known = held.map { SaveDecision.Held(tag: $0.changeTag, recordType: $0.recordType) }
        switch SaveDecision(item.kind, tag: item.tag, recordType: item.recordType, held: known) {
        case .refuse(let failure):
            throw failure
        case .create:
            return try create(item, previous: previous)
        case .update(let replacing):
            guard let held else { throw RequestFailure.recordNotFound }
            return try update(item, held, replacing: replacing)
        }
    }

    private mutating func create(_ item: IncomingChange, previous: StoredRecord?) throws -> PlannedSave {
        guard let recordType = item.recordType else { throw RequestFailure.noRecordType }
        try Validity.recordName(item.name)
        if recordType == RecordTypeDefinition.usersName {
            throw RequestFailure(.accessDenied, "CREATE operation not permitted")
        }
        try checkGrant(.create, recordType, creator: nil)
        let admitted = try growth.admit(item.fields, of: recordType)
        let fields = try assets.bind(admitted, of: item, recordType: recordType, held: nil)
        let draft = PlannedSave(
            previous: previous, recordType: recordType, fields: fields, parent: item.newParent,
            shortGUID: item.shortGUID,
            protection: try protection(
                item, fields, merged: fields, held: nil,
                changesStated: fields.contains(where: ProtectionDecision.holdsKeys),
                deleted: previous?.lastStatement ?? deletedStatement),
            set: item.references, before: [], after: Set(item.references))
        try checkSpace(draft)
        return draft
    }

    private mutating func update(_ item: IncomingChange, _ held: StoredRecord, replacing: Bool) throws -> PlannedSave {
        try checkGrant(.write, held.recordType, creator: held.created.user)
        if held.recordType == RecordTypeDefinition.usersName { try item.checkRoles(of: held, replacing: replacing) }
        let sent = replacing ? item.fields : try item.fieldsWithoutEchoes(of: held)
        let admitted = try growth.admit(sent, of: held.recordType)
        let set = try assets.bind(admitted, of: item, recordType: held.recordType, held: held)
        let kept = replacing ? [] : try held.fields()
        let fields = FieldMerge.merge(kept, set, removed: item.removed)
        let parent = item.parent(keeping: held.parent)
        let draft = PlannedSave(
            previous: held, recordType: held.recordType, fields: fields, parent: parent,
            shortGUID: held.shortGUID ?? item.shortGUID, share: held.share,
            protection: try protection(
                item, set, merged: fields, held: held,
                changesStated: try held.states(item, set, parent: parent, replacing: replacing)),
            set: item.references,
            before: try held.backReferences(),
            after: Set(
                try IncomingChange.references(
                    of: fields, parent.map(ParentChange.set(recordName:)) ?? .keep, holder: item.name)))
        try checkSpace(draft)
        return draft
    }

    /// Returns the protection of the record's sealed values after the save.
    private func protection(
        _ item: IncomingChange, _ set: [Field], merged: [Field], held: StoredRecord?, changesStated: Bool,
        deleted: LastStatement? = nil
    ) throws(RequestFailure) -> Protection? {
        // A value without a tag is known as encrypted only now.
        try IncomingChange.checkEncrypted(set, in: batch.place)
        switch ProtectionDecision(
            set: set, merged: merged, sent: item.protection, held: held?.protection, zoneEpoch: keyEpoch,
            checksTag: item.kind.checksTag, changesStated: changesStated, created: held?.created.timestamp,
            deleted: deleted)
        {
        case .store(let protection): return protection
        case .refuse(let failure): throw failure
        }
    }

    /// Checks the public database's roles (B-DB-06, B-DB-08); in a private one its owner may do everything.
    private func checkGrant(
        _ privilege: Grant.Privilege, _ recordType: String, creator: UserID?
    ) throws(RequestFailure) {
        guard batch.place.scope == .public else { return }
        let refusal = growth.schema.refusal(
            privilege, ofType: recordType, to: batch.place.caller.user, creator: creator,
            isOperator: batch.place.caller.isOperator)
        if let refusal { throw refusal }
    }

    /// Size of the record (B-LIM-05) and quota of the user (B-THR-01), to which assets count (B-AST-06).
    private mutating func checkSpace(_ draft: PlannedSave) throws {
        guard draft.contentBytes <= batch.limits.recordBytesMax else {
            throw RequestFailure.recordTooLarge
        }
        guard batch.place.scope != .public, let quota = batch.limits.quotaBytes else { return }
        let assetsBefore = try AssetUse.bytes(of: draft.held?.fields(ofType: .asset) ?? [])
        let assetGrowth = Int(clamping: try AssetUse.bytes(of: draft.fields) - assetsBefore)
        let growth = draft.bytes - (draft.held?.storedBytes ?? 0) + assetGrowth
        guard growth > 0 else { return }
        guard databaseBytes + UInt64(growth) <= quota else { throw RequestFailure.quotaExceeded }
        databaseBytes += UInt64(growth)
    }
}

extension StoredRecord {
    /// Returns a Boolean value that indicates whether a save changes what the record's statement is about: its sealed
    /// values, the keys of its files, its parent.
    ///
    /// - Parameters:
    ///   - set: The fields of the save as the schema has them.
    ///   - parent: The record's parent after it.
    ///   - replacing: Whether fields that are not among `set` go.
    fileprivate func states(
        _ item: IncomingChange, _ set: [Field], parent: String?, replacing: Bool
    ) throws -> Bool {
        guard let protection, !protection.statement.isEmpty else {
            return set.contains(where: ProtectionDecision.holdsKeys)
        }
        if parent != self.parent { return true }
        let changed = set.filter { $0.type.isEncrypted || $0.type.base == .asset }
        guard replacing || !item.removed.isEmpty || !changed.isEmpty else { return false }
        // A save that is repeated because its answer was lost changes nothing.
        let held = try fields(replacing ? nil : item.removed.union(changed.map(\.name)))
        let kept = held.filter { !item.removed.contains($0.name) && ProtectionDecision.holdsKeys($0) }
        if replacing { return kept != changed }
        return held.contains { item.removed.contains($0.name) && ProtectionDecision.holdsKeys($0) }
            || changed.contains { !held.contains($0) }
    }
}

extension IncomingChange {
    /// Returns the fields without the sealed values that the record has already: clients without keys send them back with the rest of a
    /// record (B-ENC-06).
    fileprivate func fieldsWithoutEchoes(of held: StoredRecord) throws -> [Field] {
        guard protection == nil, held.protection != nil else { return fields }
        let sealed = try held.fields().filter(\.type.isEncrypted)
        return fields.filter { field in !sealed.contains { $0.name == field.name && $0.json == field.json } }
    }

    /// Refuses a change of the roles in a user's record: they are given by operators, not by apps (B-USR-02, B-DB-07).
    fileprivate func checkRoles(of held: StoredRecord, replacing: Bool) throws {
        let present = try held.fields(["roles"]).first
        let next = fields.first { $0.name == "roles" }
        let isRemoved = removed.contains("roles") || replacing && next == nil
        guard next.map({ $0.json != present?.json }) ?? (isRemoved && present != nil) else { return }
        throw RequestFailure(
            .accessDenied, "WRITE operation not permitted",
            remedy: "Roles are given to users by the operator of the cloud.")
    }

    var newParent: String? { if case .set(let name) = parent { name } else { nil } }

    func parent(keeping held: String?) -> String? {
        switch parent {
        case .keep: held
        case .remove: nil
        case .set(let name): name
        }
    }
}

extension RequestFailure {
    /// Returns the failure with the server's record, where it is about that record (B-SAV-07).
    fileprivate func withServerRecord(_ held: StoredRecord?, in batch: ChangeBatch) throws -> RequestFailure {
        guard code == .conflict || code == .recordExists, let held else { return self }
        var failure = self
        failure.serverRecord = Box(try held.record(in: batch.place.zoneID(batch.zoneName)))
        return failure
    }
}
