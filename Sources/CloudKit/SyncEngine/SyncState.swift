/// The state of an engine: the signed-in user, the position in each feed, the pending changes.
struct SyncState: Sendable {
    /// The user's record name when the engine last looked; nil: none, or it never looked.
    var user: String?
    /// A user was signed in and no longer is: changes added since belong to no user (B-SYN-12).
    var wasSignedOut = false
    var databaseToken: String?
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
        /// The records with their types that this engine saved before it ever read the zone. A feed read from the
        /// beginning reports no deletions (B-CHG-08): records of this list that it does not contain were deleted by
        /// other devices.
        var savedUnread: [String: CKRecord.RecordType] = [:]
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
        defer { databaseToken = token }
        return databaseToken != token || !modified.isEmpty || !deleted.isEmpty
    }

    /// Records one page of a zone's feed.
    ///
    /// - Parameter names: The records in the page.
    mutating func noteZoneChanges(
        _ zone: CKRecordZone.ID, names: some Sequence<String>, token: String, isLast: Bool
    ) -> Bool {
        let isNew = zones[zone]?.token != token || (isLast && unfetched.contains(zone))
        var progress = zones[zone] ?? ZoneProgress()
        progress.token = token
        if isLast {
            progress.savedUnread = [:]
            unfetched.removeAll { $0 == zone }
        } else if !progress.savedUnread.isEmpty {
            for name in names { progress.savedUnread[name] = nil }
        }
        zones[zone] = progress
        return isNew
    }

    /// Records changes sent to zones that were never read.
    mutating func noteSent(
        _ saved: [(CKRecord.ID, CKRecord.RecordType)], _ deleted: [CKRecord.ID]
    ) -> Bool {
        var isNew = false
        for (id, type) in saved where zones[id.zoneID]?.token == nil {
            zones[id.zoneID, default: ZoneProgress()].savedUnread[id.recordName] = type
            isNew = true
        }
        for id in deleted where zones[id.zoneID]?.savedUnread.removeValue(forKey: id.recordName) != nil { isNew = true }
        return isNew
    }

    /// The zone's token is of no use any more: the zone has to be read from the beginning (B-CHG-09).
    mutating func forgetToken(of zone: CKRecordZone.ID) {
        zones[zone, default: ZoneProgress()].token = nil
        if !unfetched.contains(zone) { unfetched.append(zone) }
    }

    /// The zone is not there; the database's feed will say why.
    mutating func forget(_ zone: CKRecordZone.ID) {
        zones[zone]?.token = nil
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
