import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Writes the decisions of a batch: records, their feed entries, references, indexes and the counters of zone and
/// database.
struct ChangeWriter {
    let batch: ChangeBatch
    private let schema: Schema
    private var database: DatabaseHeader
    var zone: ZoneHeader
    /// The plan for shares; nil where nothing is shared.
    private(set) var shares: SharePlanner?
    /// Collects who will be notified; nil: not collected.
    private let pendingNotifications: NotificationBuffer?
    /// Change of the number of deleteSelf references to each target.
    private var owners: [String: Int] = [:]
    /// Records that got a new parent's child or a new owner's reference, and so get another tag (B-SAV-10).
    private var touched: [String] = []
    private var touchedNames: Set<String> = []
    private var isChanged = false
    /// The version of what each operation that took effect saved, by its position in the request.
    private(set) var versions: [Int: UInt64] = [:]
    private var indexes: [String: RecordIndexes] = [:]
    private var assets = AssetReferenceWriter()
    /// The index entries that the batch may still change: its own, removed and added ones, and those of records that follow a deletion.
    private var indexEntriesLeft: Int
    /// Those that it may still add.
    private var addedEntriesLeft: Int
    /// The changes that subscriptions may match; empty where there are no subscriptions.
    private var observed: [ObservedChange] = []
    /// The change as the members of the shared zone will be notified of it.
    var sharedChange: SharedZoneChange

    init(
        batch: ChangeBatch, database: DatabaseHeader, zone: ZoneHeader, schema: Schema, shares: SharePlanner? = nil,
        pendingNotifications: NotificationBuffer? = nil
    ) {
        self.batch = batch
        self.database = database
        self.zone = zone
        self.schema = schema
        self.shares = shares
        self.pendingNotifications = pendingNotifications
        sharedChange = SharedZoneChange(zone: zone.number)
        indexEntriesLeft = 2 * batch.limits.wholeEntriesMax
        addedEntriesLeft = batch.limits.wholeEntriesMax
    }

    mutating func write(
        _ plannedChanges: [PlannedChange], verdict: ReferenceCheck.Verdict, held: [String: StoredRecord],
        _ transaction: inout StorageWriter
    ) async throws -> [RecordOutcome] {
        var outcomes: [RecordOutcome] = []
        outcomes.reserveCapacity(plannedChanges.count)
        for (item, draft) in zip(batch.items, plannedChanges) {
            outcomes.append(try write(draft, of: item, &transaction))
        }
        try await writeCascade(verdict, &transaction)
        try writeTouched(plannedChanges, held: held, &transaction)
        if let shares, !shares.plan.isEmpty { try await write(shares.plan, of: shares, &transaction) }
        try await writeOwners(&transaction)
        try await writeAssets(&transaction)
        try await finish(&transaction)
        return outcomes
    }

    /// Decides who will be notified, and stores the counters, if anything was written.
    mutating func finish(_ transaction: inout StorageWriter) async throws {
        try await writeNotifications(&transaction)
        if isChanged { writeHeaders(&transaction) }
    }

    private mutating func write(
        _ draft: PlannedChange, of item: IncomingChange, _ transaction: inout StorageWriter
    ) throws -> RecordOutcome {
        let version = database.version + 1
        switch draft {
        case .save(let save):
            versions[item.position] = version
            return .record(try write(save, of: item, &transaction))
        case .delete(let deletion):
            versions[item.position] = version
            try write(deletion, &transaction)
            return .deleted(RecordTombstone(recordName: item.name))
        case .alreadyGone:
            return .deleted(RecordTombstone(recordName: item.name))
        case .failed(let failure):
            return .failed(recordName: item.name, failure)
        }
    }

    // MARK: Saving

    private mutating func write(
        _ draft: PlannedSave, of item: IncomingChange, _ transaction: inout StorageWriter
    ) throws -> Record {
        let version = nextVersion()
        let held = draft.held
        let stamp = stamp(after: draft.previous)
        let stored = StoredRecord(
            name: item.name, recordType: draft.recordType, version: version,
            feedVersion: zone.isCustom ? version : 0, created: held?.created ?? stamp, modified: stamp,
            parent: draft.parent, share: draft.share, shortGUID: draft.shortGUID, protection: draft.protection,
            fields: draft.fields)
        let size = transaction.set(stored, zone: zone.number)
        if zone.isCustom { zone.noteStatement(of: stored, now: batch.now) }
        moveInFeed(stored, previous: draft.previous, size: size, &transaction)
        count(records: held == nil ? 1 : 0, bytes: size - (held?.storedBytes ?? 0))
        writeReferences(before: draft.before, after: draft.after, &transaction)
        try assets.note(
            item.name, zone: zone.number, from: held?.fields(ofType: .asset) ?? [], to: draft.fields)
        let record = stored.record(in: batch.place.zoneID(zone.name), fields: draft.fields)
        try updateIndexes(from: held, to: stored, fields: draft.fields, &transaction)
        observe(held == nil ? .created : .updated, stored)
        return record.keeping(item.desired)
    }

    private mutating func moveInFeed(
        _ record: StoredRecord, previous: StoredRecord?, size: Int, _ transaction: inout StorageWriter
    ) {
        guard zone.isCustom else { return }
        if let previous { transaction.clearFeedEntry(zone: zone.number, version: previous.feedVersion) }
        let entry = FeedEntry(
            version: record.feedVersion, recordName: record.name, recordType: record.recordType,
            isTombstone: record.isTombstone, size: size)
        transaction.set(entry, zone: zone.number)
        zone.latestVersion = record.feedVersion
        if let whole = zone.sharing.wholeShare { sharedChange.note(entry.recordType, in: whole) }
        if let shares { moveInTrees(entry, shares: shares, &transaction) }
    }

    /// Writes an existing record with another attribute, as a change of its own.
    mutating func rewrite(
        _ held: StoredRecord, _ transaction: inout StorageWriter, _ change: (inout StoredRecord) -> Void
    ) throws {
        let version = nextVersion()
        var record = held
        change(&record)
        record.tagVersion = version
        record.feedVersion = zone.isCustom ? version : 0
        record.modified = stamp(after: held)
        let size = transaction.set(record, zone: zone.number)
        moveInFeed(record, previous: held, size: size, &transaction)
        observe(.updated, record)
        count(records: 0, bytes: size - held.storedBytes)
        try updateIndexes(from: held, to: record, &transaction)
    }

    private mutating func writeReferences(
        before: Set<BackReference>, after: Set<BackReference>, _ transaction: inout StorageWriter
    ) {
        if before.isEmpty, after.isEmpty { return }
        for reference in before.subtracting(after) {
            transaction.clear(reference, zone: zone.number)
            if reference.kind == .deleteSelf { owners[reference.target, default: 0] -= 1 }
        }
        for reference in after.subtracting(before) {
            transaction.set(reference, zone: zone.number)
            if reference.kind == .deleteSelf { owners[reference.target, default: 0] += 1 }
            if reference.kind != .validate, touchedNames.insert(reference.target).inserted {
                touched.append(reference.target)
            }
        }
    }

    /// - Parameter fields: Those of the stored record, where they are at hand.
    /// - Throws: `sizeLimitExceeded` when the batch changes more entries than its turn in the writer has time for.
    private mutating func updateIndexes(
        from held: StoredRecord?, to stored: StoredRecord?, fields: [Field]? = nil, _ transaction: inout StorageWriter
    ) throws {
        guard let recordType = (stored ?? held)?.recordType else { return }
        let changed = try transaction.updateIndexes(
            zone: zone.number, from: held, to: stored, newIndexes: indexes(of: recordType), newFields: fields,
            words: batch.words)
        addedEntriesLeft -= changed.added
        indexEntriesLeft -= changed.added + changed.removed
        if indexEntriesLeft < 0 || addedEntriesLeft < 0 { throw RequestFailure.tooManyIndexEntries(batch.limits) }
    }

    /// Made once a batch and type.
    private mutating func indexes(of recordType: String) -> RecordIndexes? {
        if let known = indexes[recordType] { return known }
        let made = schema[recordType]?.recordIndexes
        indexes[recordType] = made
        return made
    }

    // MARK: Deleting

    mutating func write(_ draft: PlannedDeletion, _ transaction: inout StorageWriter) throws {
        let held = draft.held
        let version = nextVersion()
        if zone.isCustom {
            let tombstone = StoredRecord(tombstoneOf: held, version: version, modified: stamp(after: held))
            let size = transaction.set(tombstone, zone: zone.number)
            moveInFeed(tombstone, previous: held, size: size, &transaction)
        } else {
            transaction.clearRecord(zone: zone.number, name: held.name)
            zone.noteDeletion(of: held, now: batch.now)
        }
        count(records: -1, bytes: -held.storedBytes)
        writeReferences(before: draft.references, after: [], &transaction)
        try assets.note(held.name, zone: zone.number, from: try held.fields(ofType: .asset), to: [])
        try updateIndexes(from: held, to: nil, &transaction)
        observe(.deleted, held)
    }

    /// A deletion cannot be divided where others follow it, so it may change more entries than a batch of saves.
    private static let cascadeEntriesFactor = 10

    /// Deletes the records that follow the deleted ones: at once, or as a job for later (B-REF-08).
    private mutating func writeCascade(
        _ verdict: ReferenceCheck.Verdict, _ transaction: inout StorageWriter
    ) async throws {
        for target in verdict.deferred {
            transaction.set(
                CascadeJob(version: nextVersion(), zoneName: zone.name, zone: zone.number, target: target))
        }
        if verdict.cascaded.isEmpty { return }
        indexEntriesLeft += Self.cascadeEntriesFactor * batch.limits.wholeEntriesMax
        let records = try await transaction.records(zone: zone.number, names: verdict.cascaded)
        for case let record? in records where !record.isTombstone {
            try write(PlannedDeletion(record), &transaction)
        }
    }

    /// Deletes records that wait for it in the outbox; each is deleted even if others point at it, as no request is left
    /// that could be refused.
    mutating func deleteOwned(_ records: [StoredRecord], _ transaction: inout StorageWriter) async throws {
        // No request is left that could be divided.
        indexEntriesLeft = .max
        var targets: [String] = []
        for record in records where !record.isTombstone {
            try write(PlannedDeletion(record), &transaction)
            targets.append(record.name)
        }
        for target in targets {
            transaction.set(
                CascadeJob(version: nextVersion(), zoneName: zone.name, zone: zone.number, target: target))
        }
        try await writeOwners(&transaction)
        try await writeAssets(&transaction)
        try await writeNotifications(&transaction)
        if isChanged { writeHeaders(&transaction) }
    }

    private mutating func writeAssets(_ transaction: inout StorageWriter) async throws {
        try await assets.write(
            zone: zone.number, now: batch.now, grace: batch.limits.assetLifetimes.grace, &transaction)
    }

    // MARK: Notifications

    /// Notes a change that was written under the newest version.
    private mutating func observe(_ event: RecordEvent, _ record: StoredRecord) {
        guard database.subscriptionCount > 0 else { return }
        observed.append(ObservedChange(event: event, record: record, version: database.version))
    }

    /// Decides in the transaction of the changes who will be notified of them (B-SUB-04).
    private mutating func writeNotifications(_ transaction: inout StorageWriter) async throws {
        sharedChange.origin = batch.place.caller.deviceID
        transaction.set(sharedChange, &database)
        sharedChange = SharedZoneChange(zone: zone.number)
        if observed.isEmpty { return }
        let pendingNotifications = NotificationWriter(
            place: batch.place, schema: schema, limits: batch.limits, now: batch.now, buffer: self.pendingNotifications)
        let commit = NotificationMatcher.Commit(
            zoneName: zone.name, isCustomZone: zone.isCustom, changes: observed, version: database.version)
        try await pendingNotifications.write(commit, database: &database, &transaction)
    }

    // MARK: Counters

    mutating func nextVersion() -> UInt64 {
        isChanged = true
        return database.takeVersions(1)
    }

    /// Returns the time and the author of a write that happens now. Of two versions of a record the newer has the later
    /// date, also within a millisecond and when the clock was set back: apps decide by it which is newer. A record that is created
    /// again has a later creation than before, by which devices tell its lives apart, unless its deletion is forgotten.
    private func stamp(after held: StoredRecord?) -> Stamp {
        Stamp(
            timestamp: max(batch.now, held.map { $0.modified.timestamp + 1 } ?? .min),
            user: batch.place.caller.user ?? batch.place.owner,
            deviceID: batch.place.caller.deviceID)
    }

    private mutating func count(records: Int, bytes: Int) {
        database.recordCount = database.recordCount.adding(records)
        database.recordBytes = database.recordBytes.adding(bytes)
        zone.recordCount = zone.recordCount.adding(records)
        zone.recordBytes = zone.recordBytes.adding(bytes)
    }

    /// Gives new tags to records that new references point to. Their content is unchanged, so no feed reports it (B-CHG-16).
    private mutating func writeTouched(
        _ plannedChanges: [PlannedChange], held: [String: StoredRecord], _ transaction: inout StorageWriter
    ) throws {
        if touched.isEmpty { return }
        var written: Set<String> = []
        for (item, draft) in zip(batch.items, plannedChanges) where draft.failure == nil { written.insert(item.name) }
        for name in touched where !written.contains(name) {
            guard var target = held[name], !target.isTombstone else { continue }
            target.tagVersion = nextVersion()
            transaction.set(target, zone: zone.number)
        }
    }

    private mutating func writeOwners(_ transaction: inout StorageWriter) async throws {
        let targets = owners.filter { $0.value != 0 }.map(\.key)
        if targets.isEmpty { return }
        let counts = try await transaction.ownerCounts(zone: zone.number, targets: targets)
        for (target, count) in zip(targets, counts) {
            transaction.setOwnerCount(zone: zone.number, target: target, count + owners[target, default: 0])
        }
        owners = [:]
    }

    private mutating func writeHeaders(_ transaction: inout StorageWriter) {
        if let token = batch.clientChangeToken { zone.clientChangeToken = token }
        if zone.isCustom { transaction.moveInDatabaseFeed(&zone, to: nextVersion()) }
        transaction.set(zone)
        transaction.set(database)
    }
}

extension UInt64 {
    /// Never below zero: a counter that lost count must not bring the server down.
    fileprivate func adding(_ change: Int) -> UInt64 {
        change >= 0 ? self + UInt64(change) : self - Swift.min(self, change.magnitude.asUInt64)
    }
}

extension UInt {
    fileprivate var asUInt64: UInt64 { UInt64(self) }
}

extension Record {
    /// Returns the record with these fields only; nil: all.
    func keeping(_ names: Set<String>?) -> Record {
        guard let names else { return self }
        var record = self
        record.fields = fields.filter { names.contains($0.name) }
        return record
    }
}
