import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// One `records/modify` request: reads the rows that its rules need, decides every record, writes the decisions.
///
/// Everything in it is a value, so that a store may run it again.
struct ChangeBatch: Sendable {
    var items: [IncomingChange]
    let place: DatabaseContext
    let zoneName: String
    /// A flag for all or nothing, where the zone supports it (B-BAT-01, B-BAT-04).
    let wantsAtomic: Bool
    var clientChangeToken: StorageBytes?
    let limits: Limits
    /// Milliseconds since 1970.
    let now: Int64
    /// The version after which a database begins that has given out none.
    var versionBeforeFirst: UInt64 = 0
    /// The words of its texts, as far as they were found before.
    var words = PreparedWords()
    /// Where its zone is looked up for `expectedReads`, and noted.
    var knownZones: KnownZones?

    /// The partitions it writes to: the database's, and the directory of links where a share may begin.
    var partitions: [StoragePartition] {
        items.contains { $0.share != nil } ? [place.partition, .shareDirectory] : [place.partition]
    }

    /// The rows that every batch reads, as far as they are known before; none of a large batch, which reads for itself.
    var expectedReads: ExpectedStorageReads {
        guard items.count <= Self.expectedItemsMax else { return ExpectedStorageReads() }
        let memory = RequestMemory(of: place.caller.attempt, by: place.caller.user, now: now)
        var expected = ExpectedStorageReads(keys: [DatabaseHeader.key, ZoneHeader.key(named: zoneName)] + memory.keys)
        guard let zone = knownZones?.zone(named: zoneName, in: place.partition) else { return expected }
        expected.keys += items.map { StoredRecord.key(zone: zone.number, name: $0.name) }
        if zone.hasSubscriptions, place.scope != .public {
            expected.ranges.append(Subscription.range(of: place.owner, in: .private))
            expected.keys.append(NotificationQueueHeader.key)
        }
        return expected
    }

    private static var expectedItemsMax: Int { 16 }

    enum Result: Sendable {
        case outcomes([RecordOutcome])
        /// The database has indexes that this schema does not know of.
        case schemaIsOld
        /// The schema must have more types or fields first; nothing was written.
        case mustGrow(SchemaGrowth)
        /// Something will wait in the outbox, which must be announced first; nothing was written.
        case mustRegisterWork
    }

    func run(
        _ schema: Schema, hasPendingWork: Bool, pendingNotifications: NotificationBuffer,
        _ transaction: inout StorageWriter
    ) async throws -> Result {
        var memory = RequestMemory(of: place.caller.attempt, by: place.caller.user, now: now)
        let headers = try await transaction.headers(zoneNamed: zoneName, reading: &memory)
        if memory.isOvertaken { throw RequestFailure.overtakenAttempt }
        try place.checkKeys(headers.database)
        if memory.hasEffects {
            return try await runRest(
                remembering: memory, headers: headers, schema, hasPendingWork: hasPendingWork,
                pendingNotifications: pendingNotifications, &transaction)
        }
        return try await run(
            remembering: memory, headers: headers, schema, hasPendingWork: hasPendingWork,
            pendingNotifications: pendingNotifications, &transaction)
    }

    /// Runs the batch, none of whose operations has taken effect before.
    func run(
        remembering remembered: RequestMemory, headers: (database: DatabaseHeader, zone: ZoneHeader?), _ schema: Schema,
        hasPendingWork: Bool, pendingNotifications: NotificationBuffer, _ transaction: inout StorageWriter
    ) async throws -> Result {
        var memory = remembered
        var headers = headers
        headers.database.begin(after: versionBeforeFirst)
        guard headers.database.schemaFloor <= schema.version else { return .schemaIsOld }
        let access = try await CallerAccess(headers.zone, in: place, transaction)
        let zone = access.zone
        knownZones?.note(zone, hasSubscriptions: headers.database.subscriptionCount > 0, in: place.partition)
        let isAtomic = wantsAtomic && zone.isCustom
        let held = try await held(in: zone, transaction)
        var shares = try await SharePlanner(self, access: access, database: headers.database, held: held, transaction)

        var planner = ChangePlanner(
            batch: self, database: headers.database, zone: zone, assets: try await assets(transaction),
            assetBytes: limits.quotaBytes == nil ? 0 : try await transaction.assetBytes(),
            growth: SchemaGrowth(
                schema, environment: place.address.environment, fieldsMax: limits.fieldsMax,
                indexesRecordNames: limits.recordNamesQueryable))
        var plannedChanges = try items.map { try shares.draft($0, held: held[$0.name], with: &planner) }
        if planner.growth.isGrown, !(isAtomic && plannedChanges.contains { $0.failure != nil }) {
            return .mustGrow(planner.growth)
        }
        try await refuseTooManyOwners(&plannedChanges, in: zone, transaction)
        let verdict = try await evaluate(&plannedChanges, in: zone, held: held, shares: &shares, transaction)
        if isAtomic, plannedChanges.contains(where: { $0.failure != nil }) {
            memory.keep([:], &transaction)
            return .outcomes(
                try await atomicOutcomes(plannedChanges).attachingShares(transaction, zone: zone.number, in: place))
        }
        // Notifications about public or shared records wait for delivery to their receivers.
        let mayNotify =
            place.scope == .public ? headers.database.subscriptionCount > 0 : zone.sharing != .none
        if !verdict.deferred.isEmpty || mayNotify, !hasPendingWork { return .mustRegisterWork }

        var writer = ChangeWriter(
            batch: self, database: shares.database, zone: zone, schema: schema, shares: shares.isActive ? shares : nil,
            pendingNotifications: pendingNotifications)
        let outcomes = try await writer.write(plannedChanges, verdict: verdict, held: held, &transaction)
        memory.keep(writer.versions, &transaction)
        return .outcomes(try await outcomes.attachingShares(transaction, zone: zone.number, in: place))
    }

    /// Returns the records of the zone under the names of the request and of the targets of new references.
    private func held(in zone: ZoneHeader, _ view: StorageWriter) async throws -> [String: StoredRecord] {
        var names = items.map(\.name)
        let targets = Set(
            items.flatMap { item in
                item.references.map(\.target) + (item.share?.change.root.map { [$0.recordName] } ?? [])
            })
        if !targets.isEmpty { names += targets.subtracting(names) }
        var held: [String: StoredRecord] = [:]
        held.reserveCapacity(names.count)
        var bytes = 0
        var rest = names[...]
        while !rest.isEmpty {
            // In parts, so that what exceeds the limit is not read.
            let records = try await view.records(zone: zone.number, names: Array(rest.prefix(Self.heldAtOnce)))
            rest = rest.dropFirst(Self.heldAtOnce)
            for case let record? in records {
                bytes += record.storedBytes
                held[record.name] = record
            }
            guard bytes <= limits.batchHeldBytesMax else { throw RequestFailure.batchTooLarge(limits) }
        }
        return held
    }

    private static var heldAtOnce: Int { 64 }

    /// Returns a planner that knows the files for which the items have receipts.
    private func assets(_ view: StorageWriter) async throws -> AssetPlanner {
        let claimed = items.flatMap(\.receipts.keys)
        let known = claimed.isEmpty ? [] : try await view.assets(claimed).compactMap { $0 }
        return AssetPlanner(known: known, now: now)
    }

    /// Returns each item's own error, and for the others the error of an item whose batch failed (B-BAT-02).
    private func atomicOutcomes(_ plannedChanges: [PlannedChange]) -> [RecordOutcome] {
        zip(items, plannedChanges).map { item, draft in
            .failed(recordName: item.name, draft.failure ?? .atomicFailure(item.name))
        }
    }
}

extension RequestFailure {
    static func atomicFailure(_ recordName: String) -> RequestFailure {
        RequestFailure(
            .atomicFailure,
            "Record \(recordName) will not be saved because of previous error in atomic zone",
            remedy: "Correct the records with errors of their own and send all again.")
    }
}

// MARK: References

extension ChangeBatch {
    /// Refuses saves that would give one record too many owning references (B-LIM-07).
    private func refuseTooManyOwners(
        _ plannedChanges: inout [PlannedChange], in zone: ZoneHeader, _ view: StorageWriter
    ) async throws {
        var added: [Int: [String]] = [:]
        for (position, draft) in plannedChanges.enumerated() {
            guard case .save(let save) = draft, !save.set.isEmpty else { continue }
            let targets = save.added.filter { $0.kind == .deleteSelf }.map(\.target)
            if !targets.isEmpty { added[position] = targets }
        }
        if added.isEmpty { return }
        let targets = Array(Set(added.values.joined()))
        var counts = Dictionary(
            zip(targets, try await view.ownerCounts(zone: zone.number, targets: targets)),
            uniquingKeysWith: { first, _ in first })
        for (position, targets) in added.sorted(by: { $0.key < $1.key }) {
            var after = counts
            for target in targets { after[target, default: 0] += 1 }
            if targets.contains(where: { after[$0, default: 0] > limits.owningReferencesMax }) {
                plannedChanges[position] = .failed(.tooManyOwners)
            } else {
                counts = after
            }
        }
    }

    /// Turns drafts that break the rules of shares and references into failures until the rest is consistent, and
    /// returns the verdict on references.
    private func evaluate(
        _ plannedChanges: inout [PlannedChange], in zone: ZoneHeader, held: [String: StoredRecord],
        shares: inout SharePlanner,
        _ view: StorageWriter
    ) async throws -> ReferenceCheck.Verdict {
        while true {
            let failed = plannedChanges.count { $0.failure != nil }
            try await shares.evaluate(&plannedChanges, held: held, view)
            let verdict = try await evaluateReferences(&plannedChanges, in: zone, held: held, view)
            try await shares.evaluate(cascade: verdict.cascaded, &plannedChanges, view)
            if !shares.isActive || plannedChanges.count(where: { $0.failure != nil }) == failed { return verdict }
        }
    }

    /// Turns drafts that would break references into failures, and returns the verdict.
    private func evaluateReferences(
        _ plannedChanges: inout [PlannedChange], in zone: ZoneHeader, held: [String: StoredRecord],
        _ view: StorageWriter
    ) async throws -> ReferenceCheck.Verdict {
        let matters = plannedChanges.contains { draft in
            switch draft {
            case .save(let save): !save.set.isEmpty
            case .delete: true
            case .alreadyGone, .failed: false
            }
        }
        guard matters else { return ReferenceCheck.Verdict() }
        var check = ReferenceCheck()
        check.cascadesAtOnce = zone.isCustom
        check.existing = Set(held.values.lazy.filter { !$0.isTombstone }.map(\.name))
        for (position, draft) in plannedChanges.enumerated() {
            let name = items[position].name
            switch draft {
            case .save(let save): check.saves[position] = .init(name: name, set: save.set, after: save.after)
            case .delete: check.deletions[position] = name
            case .failed: check.failed[position] = name
            case .alreadyGone: break
            }
        }
        try await collectBackReferences(for: &check, in: zone, view)
        let verdict = check.verdict()
        for (position, failure) in verdict.refused { plannedChanges[position] = .failed(failure) }
        return verdict
    }

    /// Looks up the references to each record that is deleted, and to each that is deleted with it.
    private func collectBackReferences(
        for check: inout ReferenceCheck, in zone: ZoneHeader, _ view: StorageWriter
    ) async throws {
        let set = check.saves.values.flatMap { $0.set.filter { $0.kind == .deleteSelf } }
        var pending = Array(check.deletions.values)
        var seen = Set(pending)
        while let target = pending.popLast() {
            let references = try await view.backReferences(
                zone: zone.number, target: target, limit: limits.cascadeMax + items.count + 1)
            check.stored[target] = references
            guard check.cascadesAtOnce else { continue }
            let owners = (references + set.filter { $0.target == target }).filter { $0.kind == .deleteSelf }
            for owner in owners where seen.insert(owner.holder).inserted { pending.append(owner.holder) }
            guard seen.count <= limits.cascadeMax + items.count else { throw RequestFailure.cascadeTooLarge(limits) }
        }
    }
}

extension RequestFailure {
    static let tooManyOwners = RequestFailure(
        .sizeLimitExceeded, "Limit exceeded for number of owning references to single record",
        remedy: "Use references without an action, or spread the records over several targets.")

    static func batchTooLarge(_ limits: Limits) -> RequestFailure {
        RequestFailure(
            .sizeLimitExceeded,
            "the records that the request changes or refers to have more than \(limits.batchHeldBytesMax) bytes",
            remedy: "Send the halves.")
    }

    static func cascadeTooLarge(_ limits: Limits) -> RequestFailure {
        RequestFailure(
            .sizeLimitExceeded, "the deletion would take more than \(limits.cascadeMax) records with it",
            remedy: "Delete the records that refer to it first.")
    }
}
