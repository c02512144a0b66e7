import CloudKit

/// A device's copy of a zone, kept up to date by the zone's changes.
struct AddressBook {
    private(set) var records: [CKRecord.ID: CKRecord] = [:]
    /// The change token for the next pull, archived as an app stores it.
    private(set) var storedToken: Data?

    /// The changes of one pull.
    struct Pull {
        var pages = 0
        var changed = 0
        var deleted = 0
    }

    subscript(name: String, in zone: CKRecordZone.ID) -> CKRecord? {
        get { records[CKRecord.ID(recordName: name, zoneID: zone)] }
        set { records[CKRecord.ID(recordName: name, zoneID: zone)] = newValue }
    }

    /// Fetches all pages of changes.
    ///
    /// The token is stored together with the records of its page (B-CHG-02, B-CHG-11).
    mutating func pull(_ zone: CKRecordZone.ID, from database: CKDatabase, pageSize: Int) async throws -> Pull {
        var pull = Pull()
        var moreComing = true
        while moreComing {
            let page = try await database.recordZoneChanges(
                inZoneWith: zone, since: try token(), resultsLimit: pageSize)
            for (id, result) in page.modificationResultsByID { records[id] = try result.get().record }
            for deletion in page.deletions { records[deletion.recordID] = nil }
            storedToken = try NSKeyedArchiver.archivedData(
                withRootObject: page.changeToken, requiringSecureCoding: true)
            pull.pages += 1
            pull.changed += page.modificationResultsByID.count
            pull.deleted += page.deletions.count
            moreComing = page.moreComing
        }
        return pull
    }

    private func token() throws -> CKServerChangeToken? {
        guard let storedToken else { return nil }
        return try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: storedToken)
    }
}
