import CloudKit
import Foundation

/// An app without an engine that keeps a copy of a database as apps did before there were engines: by the feed of the database, and the feeds of
/// the zones that it names, with operations.
///
/// Its disk is one value, to which it writes with each token.
final class FeedApp: Sendable {
    /// What survives the app.
    private struct Stored: Codable {
        /// A zone as far as the app knows it.
        struct Zone: Codable {
            var name: String
            var owner: String
            var token: Data?
            var stamps: [String: Int] = [:]
            /// Whether there is news.
            var isDue = true

            var id: CKRecordZone.ID { CKRecordZone.ID(zoneName: name, ownerName: owner) }
        }

        var token: Data?
        var zones: [String: Zone] = [:]
    }

    private let history: History
    private let device: SimulatedDevice
    private let app: SimulatedDevice.Booted
    private let database: CKDatabase
    private let memory: Shared<Stored>
    private let isSyncing = Shared(false)
    /// Whether another app has taken this one's place, because the user is another one.
    private let isReplaced = Shared(false)

    init(_ scope: CKDatabase.Scope, of device: SimulatedDevice, _ app: SimulatedDevice.Booted, in history: History)
        throws
    {
        self.history = history
        self.device = device
        self.app = app
        database = app.container.database(with: scope)
        memory = Shared(
            try device.feedDisks.value[scope].map { try JSONDecoder().decode(Stored.self, from: $0) } ?? Stored())
    }

    /// The zones that the app knows.
    var zoneIDs: [CKRecordZone.ID] { memory.value.zones.sorted { $0.key < $1.key }.map(\.value.id) }

    /// Returns the stamps of a zone; nil: the app does not know it.
    func stamps(in zoneID: CKRecordZone.ID) -> [String: Int]? { memory.value.zones[Self.key(zoneID)]?.stamps }

    private static func key(_ zoneID: CKRecordZone.ID) -> String { "\(zoneID.ownerName)/\(zoneID.zoneName)" }

    /// Brings the copy up to date.
    ///
    /// - Parameter pageMax: The most entries of a page; nil: as many as the cloud sends.
    /// - Returns: Whether all of it is.
    func sync(pageMax: Int?) async -> Bool {
        guard !isSyncing.value else { return false }
        isSyncing.value = true
        defer { isSyncing.value = false }
        guard await fetchDatabaseChanges(pageMax), await fetchZoneChanges(pageMax) else { return false }
        return memory.value.zones.values.allSatisfy { !$0.isDue }
    }

    /// Forgets what the user had whose account this device no longer has.
    func forgetUser() throws {
        isReplaced.value = true
        device.feedDisks.value[database.databaseScope] = nil
        app.feeds.value[database.databaseScope] = try FeedApp(database.databaseScope, of: device, app, in: history)
    }

    private func store() {
        guard !app.network.isGone, !isReplaced.value else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        if let bytes = try? encoder.encode(memory.value) { device.feedDisks.value[database.databaseScope] = bytes }
    }

    // MARK: The database

    private func fetchDatabaseChanges(_ pageMax: Int?) async -> Bool {
        let operation = CKFetchDatabaseChangesOperation(
            previousServerChangeToken: memory.value.token.flatMap(Self.token))
        operation.resultsLimit = pageMax ?? 0
        // A feed that is read from the beginning names the zones that there are.
        let unnamed = Shared(memory.value.token == nil ? Set(memory.value.zones.keys) : [])
        operation.recordZoneWithIDChangedBlock = { [self] id in
            let key = Self.key(id)
            unnamed.value.remove(key)
            memory.value.zones[key, default: Stored.Zone(name: id.zoneName, owner: id.ownerName)].isDue = true
        }
        operation.recordZoneWithIDWasDeletedBlock = { [self] id in memory.value.zones[Self.key(id)] = nil }
        operation.changeTokenUpdatedBlock = { [self] token in
            // Until all zones are named, the next start reads from the beginning again.
            guard unnamed.value.isEmpty else { return }
            memory.value.token = Self.data(token)
            store()
        }
        let result: Result<CKServerChangeToken, any Error> = await withCheckedContinuation { continuation in
            operation.fetchDatabaseChangesResultBlock = { continuation.resume(returning: $0.map(\.serverChangeToken)) }
            database.add(operation)
        }
        guard !app.network.isGone else { return false }
        switch result {
        case .success(let token):
            for key in unnamed.value { memory.value.zones[key] = nil }
            memory.value.token = Self.data(token)
            store()
            return true
        case .failure(let error):
            if (error as? CKError)?.code == .changeTokenExpired { memory.value.token = nil }
            history.expect(error, of: "follow", at: history.ownPlace(.default, of: device.user.name))
            return false
        }
    }

    // MARK: Zones

    private func fetchZoneChanges(_ pageMax: Int?) async -> Bool {
        let due = memory.value.zones.sorted { $0.key < $1.key }.map(\.value).filter(\.isDue)
        guard !due.isEmpty else { return true }
        var configurations: [CKRecordZone.ID: CKFetchRecordZoneChangesOperation.ZoneConfiguration] = [:]
        for zone in due {
            // A feed that is read from the beginning reports no deletions of what an earlier, incomplete fetch has shown.
            if zone.token == nil { memory.value.zones[Self.key(zone.id)]?.stamps = [:] }
            let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
            configuration.previousServerChangeToken = zone.token.flatMap(Self.token)
            if let pageMax { configuration.resultsLimit = pageMax }
            configurations[zone.id] = configuration
        }
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: due.map(\.id), configurationsByRecordZoneID: configurations)
        let undelivered = Shared<Set<CKRecordZone.ID>>([])
        operation.recordWasChangedBlock = { [self] id, result in
            switch result {
            case .success(let record): take(record)
            case .failure(let error):
                undelivered.value.insert(id.zoneID)
                expect(error, in: id.zoneID)
            }
        }
        operation.recordWithIDWasDeletedBlock = { [self] id, _ in
            memory.value.zones[Self.key(id.zoneID)]?.stamps[id.recordName] = nil
        }
        operation.recordZoneChangeTokensUpdatedBlock = { [self] id, token, _ in
            guard let token, undelivered.value.isEmpty else { return }
            memory.value.zones[Self.key(id)]?.token = Self.data(token)
            store()
        }
        operation.recordZoneFetchResultBlock = { [self] id, result in
            guard !app.network.isGone else { return }
            switch result {
            case .success(let end):
                // What was not delivered comes with the next fetch from the last token.
                guard !undelivered.value.contains(id) else { return }
                memory.value.zones[Self.key(id)]?.token = Self.data(end.serverChangeToken)
                memory.value.zones[Self.key(id)]?.isDue = false
            case .failure(let error): endFetch(of: id, with: error)
            }
            store()
        }
        let result: Result<Void, any Error> = await withCheckedContinuation { continuation in
            operation.fetchRecordZoneChangesResultBlock = { continuation.resume(returning: $0) }
            database.add(operation)
        }
        if case .success = result { return undelivered.value.isEmpty }
        return false
    }

    private func take(_ record: CKRecord) {
        let id = record.recordID
        guard id.zoneID.zoneName != NotesApp.zone.zoneID.zoneName else { return }
        history.observe(record, at: history.place(id.zoneID, of: device), keys: nil)
        guard record.recordType == "Item", !Place.isRoot(id.recordName) else { return }
        memory.value.zones[Self.key(id.zoneID)]?.stamps[id.recordName] = record["stamp"] as? Int ?? 0
    }

    private func endFetch(of id: CKRecordZone.ID, with error: any Error) {
        expect(error, in: id)
        switch (error as? CKError)?.code {
        case .changeTokenExpired:
            memory.value.zones[Self.key(id)]?.token = nil
            memory.value.zones[Self.key(id)]?.stamps = [:]
        case .zoneNotFound, .userDeletedZone:
            // The feed of the database says what became of it.
            memory.value.zones[Self.key(id)]?.isDue = false
        default: break
        }
    }

    private func expect(_ error: any Error, in zoneID: CKRecordZone.ID) {
        history.expect(error, of: "follow", at: history.place(zoneID, of: device))
    }

    // MARK: Tokens

    private static func data(_ token: CKServerChangeToken) -> Data? {
        try? NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
    }

    private static func token(_ data: Data) -> CKServerChangeToken? {
        try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: data)
    }
}
