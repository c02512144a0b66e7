/// The form in which an engine's state is stored by an app: versioned, every zone named once.
struct SyncStateArchive: Codable {
    private struct Zone: Codable {
        var name: String
        var owner: String
        var token: String?
        var isKnown: Bool?
        var savedUnread: [String: String]?
        /// `RecentChanges`.
        var recent: [String: Int64]?
        var recentDeletions: [String: Int64]?
        var newestChange: Int64?
        var zoneSaved: Int64?
        /// `ZoneRestoration`.
        var restoredTo: Int64?
        var deletedSince: [String: Int64]?
        var withholdsRecords: Bool?
        var keyStateOfUnopened: Int?
        var hasNewKeys: Bool?
    }

    private struct Change: Codable {
        var zone: Int
        /// nil: the zone itself.
        var record: String?
        var isDelete: Bool?
        /// The encryption scope of a zone that waits to be saved; nil: the usual one.
        var scope: Int?
    }

    /// The version that is written; later ones are not read.
    private static let versionMax = 1

    private var version = versionMax
    private var user: String?
    private var firstUser: String?
    private var wasSignedOut: Bool?
    private var databaseToken: String?
    private var firstEpoch: String?
    private var zones: [Zone] = []
    private var unfetched: [Int] = []
    private var databaseChanges: [Change] = []
    private var recordChanges: [Change] = []
    private var hasUntrackedChanges: Bool?
    private var subscriptionID: String?

    init(_ state: SyncState) {
        user = state.user
        firstUser = state.firstUser
        wasSignedOut = state.wasSignedOut ? true : nil
        databaseToken = state.databaseToken
        firstEpoch = state.firstEpoch
        subscriptionID = state.subscriptionID
        hasUntrackedChanges = state.hasUntrackedChanges ? true : nil
        var places: [CKRecordZone.ID: Int] = [:]
        func place(_ id: CKRecordZone.ID) -> Int {
            if let place = places[id] { return place }
            places[id] = zones.count
            let progress = state.zones[id]
            zones.append(
                Zone(
                    name: id.zoneName, owner: id.ownerName, token: progress?.token,
                    isKnown: progress == nil ? nil : true,
                    savedUnread: progress.flatMap { $0.savedUnread.isEmpty ? nil : $0.savedUnread },
                    recent: progress.flatMap { $0.recent.saved.isEmpty ? nil : $0.recent.saved },
                    recentDeletions: progress.flatMap { $0.recent.deleted.isEmpty ? nil : $0.recent.deleted },
                    newestChange: progress.flatMap { $0.recent.newest == 0 ? nil : $0.recent.newest },
                    zoneSaved: progress?.recent.zoneSaved, restoredTo: progress?.restoration?.moment,
                    deletedSince: progress?.restoration?.deleted,
                    withholdsRecords: progress?.withholdsRecords == true ? true : nil,
                    keyStateOfUnopened: progress?.keyStateOfUnopened,
                    hasNewKeys: progress?.hasNewKeys == true ? true : nil))
            return zones.count - 1
        }
        for id in state.zones.keys.inOrder {
            _ = place(id)
        }
        unfetched = state.unfetched.map(place)
        databaseChanges = state.databaseChanges.changes.map { change in
            switch change {
            case .deleteZone(let id): return Change(zone: place(id), isDelete: true)
            case .saveZone(let zone):
                let scope = zone.encryptionScope
                return Change(zone: place(zone.zoneID), scope: scope == .perRecord ? nil : scope.rawValue)
            }
        }
        recordChanges = state.recordChanges.changes.map { change in
            switch change {
            case .saveRecord(let id): Change(zone: place(id.zoneID), record: id.recordName)
            case .deleteRecord(let id): Change(zone: place(id.zoneID), record: id.recordName, isDelete: true)
            }
        }
    }

    /// - Throws: `DecodingError` for what no engine has written: an app then starts without a state.
    func state(_ path: [any CodingKey]) throws -> SyncState {
        func check(_ isGood: Bool, _ reason: String) throws {
            guard !isGood else { return }
            throw DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: reason))
        }
        try check(version <= Self.versionMax, "The state was written by a later version of CloudKit")
        try check(
            zones.allSatisfy { !$0.name.isEmpty && !$0.owner.isEmpty }, "A zone of the state has no name")
        let places = unfetched + databaseChanges.map(\.zone) + recordChanges.map(\.zone)
        try check(places.allSatisfy(zones.indices.contains), "The state names a zone that it does not list")
        try check(recordChanges.allSatisfy { $0.record?.isEmpty == false }, "A record of the state has no name")

        let ids = zones.map { CKRecordZone.ID(zoneName: $0.name, ownerName: $0.owner) }
        var state = SyncState(user: user)
        state.firstUser = firstUser
        state.wasSignedOut = wasSignedOut ?? false
        state.subscriptionID = subscriptionID
        _ = state.noteDatabaseChanges(modified: unfetched.map { ids[$0] }, deleted: [], token: "")
        state.databaseToken = databaseToken
        state.firstEpoch = firstEpoch
        for (zone, id) in zip(zones, ids) where zone.isKnown == true {
            state.zones[id] = SyncState.ZoneProgress(
                token: zone.token, savedUnread: zone.savedUnread ?? [:],
                recent: RecentChanges(
                    saved: zone.recent ?? [:], deleted: zone.recentDeletions ?? [:], newest: zone.newestChange ?? 0,
                    zoneSaved: zone.zoneSaved),
                restoration: zone.restoredTo.map { ZoneRestoration(moment: $0, deleted: zone.deletedSince ?? [:]) },
                withholdsRecords: zone.withholdsRecords ?? false,
                keyStateOfUnopened: zone.keyStateOfUnopened, hasNewKeys: zone.hasNewKeys ?? false)
        }
        _ = state.add(
            databaseChanges.map { change -> CKSyncEngine.PendingDatabaseChange in
                if change.isDelete == true { return .deleteZone(ids[change.zone]) }
                let zone = CKRecordZone(zoneID: ids[change.zone])
                zone.encryptionScope = change.scope.flatMap(CKRecordZone.EncryptionScope.init) ?? .perRecord
                return .saveZone(zone)
            })
        _ = state.add(
            recordChanges.map { change -> CKSyncEngine.PendingRecordZoneChange in
                let id = CKRecord.ID(named: change.record ?? "", in: ids[change.zone])
                return change.isDelete == true ? .deleteRecord(id) : .saveRecord(id)
            })
        if hasUntrackedChanges == true { _ = state.setUntracked(true) }
        return state
    }
}
