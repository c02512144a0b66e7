import CloudKitClient

/// The state of an engine: the signed-in user, the position in each feed, the pending changes.
struct SyncState: Sendable {
    /// The user's record name when the engine last looked; nil: none, or it never looked.
    var user: String?
    /// The user who was signed in when the app added changes, or began, before the engine ever looked, or has looked again after a user signed
    /// out; nil: none, or one whose name only the cloud knows.
    var firstUser: String?
    /// A user was signed in and no longer is: changes added since belong to no user (B-SYN-12).
    var wasSignedOut = false
    var databaseToken: String?
    /// The epoch of the cloud's store in which this engine saved its first changes, until a database token says from when on there is news.
    var firstEpoch: String?
    /// The zones that exist according to the feed, each with the position in its feed.
    var zones: [CKRecordZone.ID: ZoneProgress] = [:]
    /// Zones with news that were not fetched yet, in the order in which they were heard of.
    private(set) var unfetched: [CKRecordZone.ID] = []
    private(set) var databaseChanges = PendingList<CKRecordZone.ID, CKSyncEngine.PendingDatabaseChange>()
    private(set) var recordChanges = PendingList<CKRecord.ID, CKSyncEngine.PendingRecordZoneChange>()
    private(set) var hasUntrackedChanges = false
    /// The database subscription that is known to exist.
    var subscriptionID: String?
    /// The number of additions by the app, so that a send can recognize newer ones.
    private(set) var revision: UInt64 = 0

    struct ZoneProgress: Hashable, Sendable {
        var token: String?
        /// The records with their types that this engine saved, or showed the app in a conflict, before it ever read the zone.
        /// A feed read from the beginning reports no deletions (B-CHG-08): records of this list that it does not contain
        /// were deleted by other devices.
        var savedUnread: [String: CKRecord.RecordType] = [:]
        /// The newest changes, which a restored cloud may have lost.
        var recent = RecentChanges()
        /// The cloud was restored, and the zone has to be read from the beginning.
        var restoration: ZoneRestoration?

        /// A restored cloud has records in earlier versions, which the app does not get before the user has accepted them.
        var withholdsRecords = false
        /// The state of the shares' keys when records came that could not be opened; nil: all could be.
        var keyStateOfUnopened: Int?
        /// New keys have come since records could not be opened.
        var hasNewKeys = false

        /// Notes that the app has a record, which the zone's first feed has to contain.
        mutating func noteUnread(_ record: CKRecord) {
            if token == nil { savedUnread[record.recordID.recordName] = record.recordType }
        }
    }

    init(user: String? = nil) { self.user = user }

    // MARK: What waits to be sent

    mutating func add(_ changes: [CKSyncEngine.PendingRecordZoneChange]) -> Bool {
        revision += 1
        return changes.reduce(false) { recordChanges.add($1, for: $1.recordID, revision: revision) || $0 }
    }

    mutating func add(_ changes: [CKSyncEngine.PendingDatabaseChange]) -> Bool {
        revision += 1
        return changes.reduce(false) { databaseChanges.add($1, for: $1.zoneID, revision: revision) || $0 }
    }

    mutating func remove(_ changes: [CKSyncEngine.PendingRecordZoneChange]) -> Bool {
        let unwanted = Set(changes)
        return recordChanges.removeAll { unwanted.contains($0.change) }
    }

    mutating func remove(_ changes: [CKSyncEngine.PendingDatabaseChange]) -> Bool {
        let unwanted = Set(changes)
        return databaseChanges.removeAll { unwanted.contains($0.change) }
    }

    /// Removes settled changes, unless the app added them again after `revision`.
    mutating func settle(_ changes: Set<CKSyncEngine.PendingRecordZoneChange>, until revision: UInt64) -> Bool {
        recordChanges.removeAll { $0.revision <= revision && changes.contains($0.change) }
    }

    /// Removes settled changes, unless the app added them again after `revision`.
    mutating func settle(_ changes: Set<CKSyncEngine.PendingDatabaseChange>, until revision: UInt64) -> Bool {
        databaseChanges.removeAll { $0.revision <= revision && changes.contains($0.change) }
    }

    mutating func setUntracked(_ value: Bool) -> Bool {
        revision += 1
        defer { hasUntrackedChanges = value }
        return hasUntrackedChanges != value
    }

    /// The delegate has nothing more to send: untracked changes are sent, unless some came after `revision`.
    mutating func settleUntracked(until revision: UInt64) -> Bool {
        guard hasUntrackedChanges, self.revision <= revision else { return false }
        hasUntrackedChanges = false
        return true
    }

    /// The number of records that the stored state names.
    var entryCount: Int {
        zones.values.reduce(recordChanges.entries.count) { sum, zone in
            sum + zone.recent.saved.count + zone.recent.deleted.count + zone.savedUnread.count
                + (zone.restoration?.deleted.count ?? 0)
        }
    }

    var hasWork: Bool { !databaseChanges.isEmpty || !recordChanges.isEmpty || hasUntrackedChanges }

    // MARK: What was fetched

    /// Notes one page of the database's feed.
    ///
    /// - Returns: Whether anything is different now.
    mutating func noteDatabaseChanges(
        modified: [CKRecordZone.ID], deleted: [CKRecordZone.ID], token: String
    ) -> Bool {
        for zone in deleted {
            zones[zone] = nil
            unfetched.removeAll { $0 == zone }
        }
        var waiting = Set(unfetched)
        for zone in modified {
            if zones[zone] == nil { zones[zone] = ZoneProgress() }
            if waiting.insert(zone).inserted { unfetched.append(zone) }
        }
        firstEpoch = nil
        defer { databaseToken = token }
        return databaseToken != token || !modified.isEmpty || !deleted.isEmpty
    }

    /// Records one page of a zone's feed.
    ///
    /// - Parameters:
    ///   - saved: The records in the page, with the times of their changes.
    ///   - deleted: The deletions in the page.
    mutating func noteZoneChanges(
        _ zone: CKRecordZone.ID, saved: [(name: String, time: Int64)], deleted: [String], token: String, isLast: Bool,
        now: Int64
    ) -> Bool {
        let names = saved.map(\.name) + deleted
        let isNew = zones[zone]?.token != token || (isLast && unfetched.contains(zone))
        // Taken out, so that what it remembers is changed in place.
        var progress = zones.removeValue(forKey: zone) ?? ZoneProgress()
        progress.token = token
        progress.recent.noteFetched(saved, deleted: deleted, now: now)
        if isLast {
            progress.savedUnread = [:]
            progress.restoration = nil
            unfetched.removeAll { $0 == zone }
        } else if !progress.savedUnread.isEmpty {
            for name in names { progress.savedUnread[name] = nil }
        }
        zones[zone] = progress
        return isNew
    }

    /// Notes the epoch in which something is saved, if no database token tells whether the cloud is restored later.
    mutating func noteEpoch(_ epoch: String?) {
        if databaseToken == nil, firstEpoch == nil { firstEpoch = epoch }
    }

    /// Records changes that were sent.
    mutating func noteSent(_ saved: [CKRecord], _ deleted: [CKRecord.ID], now: Int64) -> Bool {
        for record in saved {
            let id = record.recordID
            var progress = zones.removeValue(forKey: id.zoneID) ?? ZoneProgress()
            progress.noteUnread(record)
            progress.recent.noteSaved(id.recordName, at: record.modificationTime ?? now)
            zones[id.zoneID] = progress
        }
        for id in deleted {
            zones[id.zoneID]?.savedUnread[id.recordName] = nil
            zones[id.zoneID]?.recent.noteDeleted(id.recordName, at: now)
        }
        return !saved.isEmpty || !deleted.isEmpty
    }

    /// Records what the cloud had in the place of changes that it refused: the app has it from now on.
    mutating func noteConflicts(_ records: [CKRecord]) -> Bool {
        for record in records { zones[record.recordID.zoneID, default: ZoneProgress()].noteUnread(record) }
        return !records.isEmpty
    }

    /// Records zones that were sent.
    mutating func noteSent(zones saved: [CKRecordZone.ID], now: Int64) -> Bool {
        for zone in saved { zones[zone, default: ZoneProgress()].recent.zoneSaved = now }
        return !saved.isEmpty
    }

    // MARK: A restored cloud

    /// Offers again what a restored cloud may have lost (B-SYN-17).
    ///
    /// - Parameters:
    ///   - moment: The time of the state to which it was restored; 0 if that is not known.
    ///   - living: The zones that it has.
    ///   - canMakeZones: Whether zones that it lost can be made again.
    mutating func offerAgain(since moment: Int64, living: Set<CKRecordZone.ID>, canMakeZones: Bool) {
        for zone in zones.keys.inOrder {
            offerAgain(since: moment, in: zone, isThere: living.contains(zone), canMakeZones: canMakeZones)
        }
    }

    /// Offers the changes of one zone again.
    mutating func offerAgain(
        since moment: Int64, in zone: CKRecordZone.ID, isThere: Bool = true, canMakeZones: Bool = false
    ) {
        guard var progress = zones[zone] else { return }
        let names = progress.recent.saved(since: moment)
        let isMissing = !isThere && zone != .default
        if isMissing, canMakeZones, !names.isEmpty || progress.recent.isZoneSaved(since: moment),
            // What the app has added itself is newer.
            databaseChanges[zone] == nil
        {
            _ = add([.saveZone(CKRecordZone(zoneID: zone))])
        }
        if !isMissing || canMakeZones {
            let ids = names.map { CKRecord.ID(named: $0, in: zone) }
            _ = add(ids.filter { recordChanges[$0] == nil }.map { .saveRecord($0) })
        }
        progress.restoration = ZoneRestoration(to: moment, progress.recent, after: progress.restoration)
        progress.recent = RecentChanges()
        // A record that a restored cloud does not have was not deleted by another device.
        progress.savedUnread = [:]
        zones[zone] = progress
    }

    /// Makes records pending whose newer version a restored cloud has lost: the app may have it.
    ///
    /// - Returns: Whether anything is different now.
    mutating func offerAgain(_ lost: [CKRecord.ID]) -> Bool {
        let missing = lost.filter { recordChanges[$0] == nil }
        return !missing.isEmpty && add(missing.map { .saveRecord($0) })
    }

    /// Returns the zones to read again, since the app did not get all records that it can have now.
    ///
    /// - Parameter isAccepted: Whether the user has accepted the state of a restored cloud.
    func withholdingZones(isAccepted: Bool) -> [CKRecordZone.ID] {
        zones.filter { $0.value.hasNewKeys || (isAccepted && $0.value.withholdsRecords) }.keys.inOrder
    }

    /// Makes a zone be read from the beginning of which the app did not get all records.
    mutating func readAgain(_ zone: CKRecordZone.ID) {
        zones[zone]?.withholdsRecords = false
        zones[zone]?.keyStateOfUnopened = nil
        zones[zone]?.hasNewKeys = false
        forgetToken(of: zone)
    }

    /// Notes that the app does not get all records of a zone.
    mutating func withhold(in zone: CKRecordZone.ID) { zones[zone, default: ZoneProgress()].withholdsRecords = true }

    /// Notes with which keys a page was opened: the zone is read again where new ones have come since records could not be opened.
    mutating func note(_ keys: OpenedChanges.Keys, in zone: CKRecordZone.ID) {
        if let known = zones[zone]?.keyStateOfUnopened, keys.hasShares, keys.state != known {
            zones[zone]?.keyStateOfUnopened = nil
            zones[zone]?.hasNewKeys = true
        }
        if keys.areAwaited { zones[zone, default: ZoneProgress()].keyStateOfUnopened = keys.state }
    }

    /// The zones whose end is not to be reported if a feed that is read from the beginning does not name them.
    var zonesToMake: Set<CKRecordZone.ID> { Set(databaseChanges.changes.map(\.zoneID)) }

    /// The zone's token is of no use any more: the zone has to be read from the beginning (B-CHG-09).
    mutating func forgetToken(of zone: CKRecordZone.ID) {
        zones[zone, default: ZoneProgress()].token = nil
        if !unfetched.contains(zone) { unfetched.append(zone) }
    }

    /// The zone is not there; the database's feed will say why.
    ///
    /// Its token stays: if the feed reports a zone that was made again meanwhile, the app learns that what it has is of an earlier one (B-CHG-10).
    mutating func setAside(_ zone: CKRecordZone.ID) {
        unfetched.removeAll { $0 == zone }
    }

    /// The zones to fetch next, those named first in front (B-SYN-13).
    func zonesToFetch(_ options: CKSyncEngine.FetchChangesOptions, except done: Set<CKRecordZone.ID>) -> [CKRecordZone
        .ID]
    {
        let wanted = unfetched.filter { options.scope.contains($0) && !done.contains($0) }
        guard !options.prioritizedZoneIDs.isEmpty else { return wanted }
        let first = options.prioritizedZoneIDs.filter(wanted.contains)
        return first + wanted.filter { !first.contains($0) }
    }
}

extension Sequence<CKRecordZone.ID> {
    /// The zones in the order of their names.
    var inOrder: [CKRecordZone.ID] { sorted { ($0.zoneName, $0.ownerName) < ($1.zoneName, $1.ownerName) } }
}
