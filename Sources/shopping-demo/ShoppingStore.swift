import CloudKit

/// The lists of a user, in a zone of their own and in those that others share with them. Titles are end-to-end encrypted.
struct ShoppingStore: Sendable {
    struct List {
        var title: String
        var isShared: Bool
        var items: [Item]
    }

    struct Item {
        var title: String
        var isDone: Bool
    }

    struct Failure: LocalizedError {
        var errorDescription: String?
    }

    let container: CKContainer

    private static let zoneName = "Shopping"
    private static let ownList = CKRecord.ID(
        recordName: "groceries", zoneID: CKRecordZone.ID(zoneName: zoneName, ownerName: CKCurrentUserDefaultName))

    /// Returns the user's own list, which the first call makes.
    func ownList() async throws -> CKRecord {
        let database = container.privateCloudDatabase
        do {
            return try await database.record(for: Self.ownList)
        } catch let error as CKError where [.unknownItem, .zoneNotFound].contains(error.code) {
            _ = try await database.save(CKRecordZone(zoneID: Self.ownList.zoneID))
            let list = CKRecord(recordType: "List", recordID: Self.ownList)
            list.encryptedValues["title"] = "Groceries"
            do {
                return try await database.save(list)
            } catch let error as CKError where error.code == .serverRecordChanged {
                // Another device, or another process of this one, has just made it.
                return try await database.record(for: Self.ownList)
            }
        }
    }

    /// Returns the user's own list, if there is one, and those of others.
    func lists() async throws -> [List] {
        var lists: [List] = []
        for (zone, database) in try await zones() {
            let records = try await records(of: zone, in: database)
            for list in records where list.recordType == "List" {
                let items = records.filter { $0.parent?.recordID == list.recordID }
                    .sorted {
                        ($0.creationDate ?? .distantPast, $0.itemTitle) < (
                            $1.creationDate ?? .distantPast, $1.itemTitle
                        )
                    }
                lists.append(
                    List(
                        title: list.encryptedValues["title"] as? String ?? "",
                        isShared: list.share != nil || zone.isOther,
                        items: items.map { Item(title: $0.itemTitle, isDone: $0["done"] as? Int == 1) }))
            }
        }
        return lists
    }

    /// Adds items: to a list that another shares with the user, else to the user's own.
    func add(_ titles: [String]) async throws {
        let (list, database) = try await currentList()
        let items = titles.map { title in
            let item = CKRecord(recordType: "Item", recordID: CKRecord.ID(zoneID: list.recordID.zoneID))
            item.encryptedValues["title"] = title
            item["done"] = 0
            item.setParent(list)
            return item
        }
        _ = try await database.modifyRecords(saving: items, deleting: [])
    }

    /// Ticks an item off.
    func tick(_ title: String) async throws {
        for (zone, database) in try await zones() {
            guard let item = try await records(of: zone, in: database).first(where: { $0.itemTitle == title }) else {
                continue
            }
            item["done"] = 1
            _ = try await database.save(item)
            return
        }
        throw Failure(errorDescription: "There is no item \(title).")
    }

    private func currentList() async throws -> (CKRecord, CKDatabase) {
        for (zone, database) in try await zones() where zone.isOther {
            if let list = try await records(of: zone, in: database).first(where: { $0.recordType == "List" }) {
                return (list, database)
            }
        }
        return (try await ownList(), container.privateCloudDatabase)
    }

    private func zones() async throws -> [(CKRecordZone.ID, CKDatabase)] {
        var zones: [(CKRecordZone.ID, CKDatabase)] = []
        for database in [container.privateCloudDatabase, container.sharedCloudDatabase] {
            let named = try await database.allRecordZones().map(\.zoneID).filter { $0.zoneName == Self.zoneName }
            zones += named.map { ($0, database) }
        }
        return zones
    }

    private func records(of zone: CKRecordZone.ID, in database: CKDatabase) async throws -> [CKRecord] {
        var records: [CKRecord] = []
        var token: CKServerChangeToken?
        while true {
            let page = try await database.recordZoneChanges(inZoneWith: zone, since: token)
            records += try page.modificationResultsByID.values.map { try $0.get().record }
            token = page.changeToken
            if !page.moreComing { return records }
        }
    }
}

extension CKRecord {
    fileprivate var itemTitle: String { recordType == "Item" ? encryptedValues["title"] as? String ?? "" : "" }
}

extension CKRecordZone.ID {
    fileprivate var isOther: Bool { ownerName != CKCurrentUserDefaultName }
}
