import CloudKit
import Foundation
import Testing

// Code as apps write it, with `import CloudKit` alone. That it compiles is the test; nothing here is called but the
// last function.
private enum CodeForms {
    static let container = CKContainer(identifier: "iCloud.com.example.app")
    static let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)

    // MARK: The introduction to async CloudKit

    static func deleteWithHandler(_ database: CKDatabase, _ recordID: CKRecord.ID) {
        database.delete(withRecordID: recordID) { deletedRecordID, error in
            if let error {
                print("failed: \(error.localizedDescription)")
            } else if let deletedRecordID {
                print(deletedRecordID.recordName)
            }
        }
    }

    static func deleteWithAwait(_ database: CKDatabase, _ recordID: CKRecord.ID) async {
        do {
            let deletedRecordID = try await database.deleteRecord(withID: recordID)
            print(deletedRecordID)
        } catch let error as CKError where error.code == .networkFailure || error.code == .networkUnavailable {
            print("offline")
        } catch {
            print(error)
        }
    }

    static func fetchOldAndNew(_ database: CKDatabase, _ recordIDs: [CKRecord.ID]) {
        let old = CKFetchRecordsOperation(recordIDs: recordIDs)
        old.perRecordCompletionBlock = { record, recordID, error in
            if let error { print(recordID as Any, error) } else { print(record as Any) }
        }
        old.fetchRecordsCompletionBlock = { recordsByID, error in
            if let error = error as? CKError, error.code == .partialFailure {
                print(error.partialErrorsByItemID?[recordIDs[0]] as Any)
            }
            print(recordsByID?.count ?? 0)
        }
        let new = CKFetchRecordsOperation(recordIDs: recordIDs)
        new.perRecordResultBlock = { recordID, result in
            switch result {
            case .success(let record): print(record.recordID)
            case .failure(let error): print(recordID, error)
            }
        }
        new.fetchRecordsResultBlock = { result in
            switch result {
            case .success: print("done")
            case .failure(let error): print(error)
            }
        }
        database.add(old)
        database.add(new)
    }

    static func modifyWithAwait(_ database: CKDatabase, _ recordIDs: [CKRecord.ID]) async throws {
        let (_, deleteResults) = try await database.modifyRecords(saving: [], deleting: recordIDs)
        for (recordID, result) in deleteResults {
            switch result {
            case .success: print("deleted \(recordID)")
            case .failure(let error): print("failed \(recordID): \(error)")
            }
        }
    }

    static func configured(_ database: CKDatabase) async throws -> CKRecord {
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .userInitiated
        configuration.timeoutIntervalForRequest = 15
        return try await database.configuredWith(configuration: configuration) { database in
            try await database.record(for: CKRecord.ID(recordName: "a", zoneID: zoneID))
        }
    }

    // MARK: A sync loop of operations

    final class Syncer {
        var databaseToken: CKServerChangeToken?
        var tokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
        var changed: [CKRecordZone.ID] = []

        func fetchDatabase(_ database: CKDatabase) {
            let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: databaseToken)
            operation.fetchAllChanges = true
            operation.recordZoneWithIDChangedBlock = { self.changed.append($0) }
            operation.recordZoneWithIDWasDeletedBlock = { zoneID in self.tokens[zoneID] = nil }
            operation.recordZoneWithIDWasPurgedBlock = { zoneID in self.tokens[zoneID] = nil }
            operation.changeTokenUpdatedBlock = { self.databaseToken = $0 }
            operation.fetchDatabaseChangesCompletionBlock = { [weak self] token, moreComing, error in
                guard error == nil, !moreComing else { return }
                self?.databaseToken = token
                self?.fetchZones(database)
            }
            operation.qualityOfService = .utility
            database.add(operation)
        }

        func fetchZones(_ database: CKDatabase) {
            var configurations = [CKRecordZone.ID: CKFetchRecordZoneChangesOperation.ZoneConfiguration]()
            for zoneID in changed {
                let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
                configuration.previousServerChangeToken = tokens[zoneID]
                configurations[zoneID] = configuration
            }
            let operation = CKFetchRecordZoneChangesOperation(
                recordZoneIDs: changed, configurationsByRecordZoneID: configurations)
            operation.recordChangedBlock = { record in print(record.recordType) }
            operation.recordWasChangedBlock = { _, result in if let record = try? result.get() { print(record) } }
            operation.recordWithIDWasDeletedBlock = { recordID, recordType in print(recordID, recordType) }
            operation.recordZoneChangeTokensUpdatedBlock = { zoneID, token, _ in self.tokens[zoneID] = token }
            operation.recordZoneFetchCompletionBlock = { zoneID, token, _, _, error in
                if let error = error as? CKError {
                    switch error.code {
                    case .changeTokenExpired: self.tokens[zoneID] = nil
                    case .zoneNotFound, .userDeletedZone: print("gone")
                    default: break
                    }
                    return
                }
                self.tokens[zoneID] = token
            }
            operation.recordZoneFetchResultBlock = { zoneID, result in
                if case .success((let token, _, let moreComing)) = result { print(zoneID, token, moreComing) }
            }
            operation.fetchRecordZoneChangesResultBlock = { result in
                if case .failure(let error) = result { print(error) }
            }
            database.add(operation)
        }
    }

    static func modify(_ database: CKDatabase, _ records: [CKRecord], _ recordIDs: [CKRecord.ID]) {
        let operation = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: recordIDs)
        operation.savePolicy = .changedKeys
        operation.isAtomic = true
        operation.clientChangeTokenData = Data()
        operation.perRecordProgressBlock = { record, progress in print(record.recordID, progress) }
        operation.perRecordCompletionBlock = { record, error in print(record, error as Any) }
        operation.modifyRecordsCompletionBlock = { savedRecords, deletedRecordIDs, error in
            guard let error = error as? CKError else { return print(savedRecords?.count ?? 0, deletedRecordIDs as Any) }
            switch error.code {
            case .limitExceeded:
                let half = records.count / 2
                modify(database, Array(records[..<half]), recordIDs)
                modify(database, Array(records[half...]), [])
            case .requestRateLimited, .zoneBusy, .serviceUnavailable:
                let delay = error.userInfo[CKErrorRetryAfterKey] as? Double ?? 3
                DispatchQueue.main.asyncAfter(deadline: .now() + delay) { print("again") }
            case .partialFailure:
                for (id, itemError) in error.partialErrorsByItemID ?? [:] { print(id, itemError) }
            default: print(error)
            }
        }
        operation.configuration.isLongLived = true
        operation.configuration.qualityOfService = .userInitiated
        operation.group = CKOperationGroup()
        operation.group?.name = "Upload"
        operation.group?.expectedSendSize = .kilobytes
        operation.database = database
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.addOperation(operation)
    }

    static func zones(_ database: CKDatabase) async throws {
        let zone = CKRecordZone(zoneID: zoneID)
        let create = CKModifyRecordZonesOperation(recordZonesToSave: [zone], recordZoneIDsToDelete: nil)
        create.modifyRecordZonesCompletionBlock = { _, _, error in print(error as Any) }
        create.modifyRecordZonesResultBlock = { result in print(result) }
        let check = CKFetchRecordZonesOperation(recordZoneIDs: [zone.zoneID])
        check.fetchRecordZonesCompletionBlock = { zones, error in print(zones?[zone.zoneID] as Any, error as Any) }
        check.addDependency(create)
        database.add(create)
        database.add(check)
        try await database.save(zone)
        _ = try await database.recordZones(for: [zone.zoneID])[zone.zoneID]?.get()
        for zone in try await database.allRecordZones() { print(zone.zoneID.zoneName, zone.capabilities) }
        try await database.deleteRecordZone(withID: zone.zoneID)
        database.save(zone) { zone, error in print(zone as Any, error as Any) }
        database.delete(withRecordZoneID: zone.zoneID) { _, _ in }
        database.fetchAllRecordZones { zones, error in print(zones?.count ?? 0, error as Any) }
    }

    static func query(_ database: CKDatabase) async throws -> [CKRecord] {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "title BEGINSWITH %@", "A"))
        query.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
        var records: [CKRecord] = []
        var response = try await database.records(matching: query, inZoneWith: zoneID, resultsLimit: 50)
        records += response.matchResults.compactMap { try? $0.1.get() }
        while let cursor = response.queryCursor {
            response = try await database.records(continuingMatchFrom: cursor)
            records += try response.matchResults.map { _, result in try result.get() }
        }
        let (matchResults, _) = try await database.records(matching: query)
        for (recordID, result) in matchResults { print(recordID, result) }
        database.fetch(withQuery: query, inZoneWith: nil, desiredKeys: ["title"], resultsLimit: 10) { result in
            switch result {
            case .success((let matches, let cursor)): print(matches.count, cursor as Any)
            case .failure(let error): print(error)
            }
        }
        let operation = CKQueryOperation(query: query)
        operation.desiredKeys = ["title"]
        operation.resultsLimit = CKQueryOperation.maximumResults
        operation.recordFetchedBlock = { record in print(record) }
        operation.queryCompletionBlock = { cursor, error in
            guard let cursor else { return print(error as Any) }
            database.add(CKQueryOperation(cursor: cursor))
        }
        operation.recordMatchedBlock = { recordID, result in print(recordID, result) }
        operation.queryResultBlock = { result in print(result) }
        database.add(operation)
        return records
    }

    static func account() async throws {
        let status = try await container.accountStatus()
        guard status == .available else { return }
        container.accountStatus { status, error in
            DispatchQueue.main.async { print(status == .noAccount, error as Any) }
        }
        print(try await container.userRecordID().recordName)
        container.fetchUserRecordID { recordID, error in print(recordID?.recordName ?? "", error as Any) }
        _ = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: .main) { _ in }
    }

    static func handlers(_ database: CKDatabase, _ record: CKRecord) {
        let tag = record.recordChangeTag
        database.save(record) { record, error in print(record?.recordChangeTag == tag, error as Any) }
        database.fetch(withRecordID: record.recordID) { record, error in print(record as Any, error as Any) }
        database.modifyRecords(saving: [record], deleting: [], savePolicy: .allKeys, atomically: false) { result in
            switch result {
            case .success(let (saveResults, deleteResults)): print(saveResults.count, deleteResults.count)
            case .failure(let error): print(error)
            }
        }
        database.fetchRecordZoneChanges(inZoneWith: zoneID, since: nil) { result in
            if let changes = try? result.get() { print(changes.modificationResultsByID.count, changes.moreComing) }
        }
    }

    @MainActor final class Model {
        var record = CKRecord(recordType: "Note")

        func save(to database: CKDatabase) async throws {
            record = try await database.save(record)
            let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
            for (_, result) in changes.modificationResultsByID { record = try result.get().record }
            for deletion in changes.deletions { print(deletion.recordID, deletion.recordType) }
        }

        func saveInGroup(to database: CKDatabase) async throws {
            let group = CKOperationGroup()
            record = try await database.configuredWith(group: group) { database in
                try await database.save(record)
            }
        }
    }
}

// MARK: Records between actors

/// An app's value with records in it.
private struct Entry: Sendable {
    var record: CKRecord
    var share: CKShare?
    var secrets: any CKRecordKeyValueSetting & Sendable { record.encryptedValues }
}

private actor Library {
    private var entries: [CKRecord.ID: Entry] = [:]

    func keep(_ record: CKRecord) { entries[record.recordID] = Entry(record: record) }

    func record(for id: CKRecord.ID) -> CKRecord? { entries[id]?.record }

    func load(_ ids: [CKRecord.ID], from database: CKDatabase) async throws {
        try await withThrowingTaskGroup(of: CKRecord.self) { group in
            for id in ids { group.addTask { try await database.record(for: id) } }
            for try await record in group { keep(record) }
        }
    }
}

@MainActor private final class Shelf {
    var records: [CKRecord] = []

    func save(to database: CKDatabase) {
        let operation = CKModifyRecordsOperation(recordsToSave: records)
        operation.perRecordSaveBlock = { _, result in
            guard let record = try? result.get() else { return }
            Task { @MainActor in self.records.append(record) }
        }
        database.add(operation)
    }
}

// MARK: Waiting for another account

@MainActor private final class AccountScreen {
    var isAvailable = false
    private var watching: Task<Void, Never>?

    func appear() {
        watching = Task { [weak self] in
            for await _ in NotificationCenter.default.notifications(named: .CKAccountChanged) {
                let status = try? await CKContainer.default().accountStatus()
                self?.isAvailable = status == .available
            }
        }
    }
}

@Suite(.timeLimit(.minutes(20))) struct CodeFormTests {
    @Test func `B-ACC-03 notifications come as a sequence, from the moment it is made`() async {
        let name = Notification.Name("CodeFormTests")
        let center = NotificationCenter()
        let notifications = center.notifications(named: name)
        for number in 1...3 { center.post(name: name, object: nil, userInfo: ["number": number]) }
        center.post(name: .CKAccountChanged, object: nil)
        var numbers: [Int] = []
        for await notification in notifications {
            numbers.append(notification.userInfo?["number"] as? Int ?? 0)
            if numbers.count == 3 { break }
        }
        #expect(numbers == [1, 2, 3])
        center.post(name: name, object: nil, userInfo: ["number": 4])
        var later = notifications.map { $0.name }.makeAsyncIterator()
        #expect(await later.next() == name)
    }

    @Test func `change tokens are kept in defaults as samples do`() throws {
        let suite = "CodeFormTests-\(UUID().uuidString)"
        let defaults = try #require(UserDefaults(suiteName: suite))
        defer { defaults.removePersistentDomain(forName: suite) }
        defaults.setValue(Data([1, 2]), forKey: "token")
        #expect(defaults.data(forKey: "token") == Data([1, 2]))
        #expect(defaults.value(forKey: "token") as? Data == Data([1, 2]))
        defaults.setValue(nil, forKey: "token")
        #expect(defaults.data(forKey: "token") == nil)
    }

    @Test func `a record that actors share keeps the values that each of them sets`() async {
        let library = Library()
        let record = CKRecord(recordType: "Note")
        await library.keep(record)
        await withTaskGroup { group in
            for number in 0..<40 {
                group.addTask {
                    let shared = await library.record(for: record.recordID)
                    shared?["field\(number)"] = number
                    shared?.encryptedValues["secret\(number)"] = number
                }
            }
        }
        #expect(record.allKeys().count == 40)
        #expect(record.encryptedValues.changedKeys().count == 40)
    }

    @Test func `The raw values of Apples enumerations`() {
        #expect(CKAccountStatus.temporarilyUnavailable.rawValue == 4)
        #expect(CKDatabase.Scope.shared.rawValue == 3)
        #expect(CKModifyRecordsOperation.RecordSavePolicy.allKeys.rawValue == 2)
        #expect(CKOperationGroup.TransferSize.hundredsOfGigabytes.rawValue == 7)
        #expect(CKQueryOperation.maximumResults == 0)
    }
}
