import CloudKit

extension AddressBookScenario {
    /// Deletes two contacts in one batch: both or neither.
    mutating func deleteTwo() async throws {
        let leaving = [try contact(11), try contact(12)]
        let ids = leaving.map { CKRecord.ID(recordName: $0.recordName, zoneID: zone) }
        let results = try await a.database.modifyRecords(saving: [], deleting: ids, atomically: true)
        for id in ids {
            guard let result = results.deleteResults[id] else {
                throw DemoFailure(.unexpected, "Not as expected: the answer says nothing about a deletion.")
            }
            try result.get()
            a.book[id.recordName, in: zone] = nil
            expected[id.recordName] = nil
        }
        terminal.row("device A deletes", leaving.map(\.fullName).joined(separator: " and "))

        let found = try await b.database.records(for: ids)
        for id in ids {
            guard case .failure(let error as CKError)? = found[id], error.code == .unknownItem else {
                throw DemoFailure(.unexpected, "Not as expected: a deleted record can still be fetched.")
            }
        }
        terminal.row("device B fetches them", "unknownItem, twice")
    }

    /// Sends a batch of three changes, one of them stale: none takes effect.
    mutating func failAtomically() async throws {
        // B's copy of this contact is outdated: A has changed its telephone number since.
        let stale = try record(try contact(3).recordName, on: b)
        stale[ContactKey.note.rawValue] = "This must never be seen."
        let innocent = try record(try contact(30).recordName, on: b)
        let untouched = Contact(innocent)
        innocent[ContactKey.note.rawValue] = "Nor this."
        let kept = CKRecord.ID(recordName: try contact(32).recordName, zoneID: zone)

        let errors = try await failures(saving: [stale, innocent], deleting: [kept])
        try expect(errors[stale.recordID] == .serverRecordChanged, "the stale record causes the failure.")
        try expect(errors[innocent.recordID] == .batchRequestFailed, "the innocent save fails with the batch.")
        try expect(errors[kept] == .batchRequestFailed, "the innocent deletion fails with the batch.")
        terminal.row("the stale save", "serverRecordChanged")
        terminal.row("the other save", "batchRequestFailed")
        terminal.row("the deletion", "batchRequestFailed")

        let now = try await a.database.records(for: [innocent.recordID, stale.recordID, kept])
        for (id, result) in now {
            let held = Contact(try result.get())
            try expect(held.values == expected[id.recordName]?.values, "a failed batch changes nothing.")
        }
        terminal.row("afterwards", "all three are unchanged")
        untouched.write(to: innocent)
        b.book[innocent.recordID.recordName, in: zone] = innocent
    }

    /// Sends a batch that has to fail and collects the error of each item.
    ///
    /// The per-item errors come as results, or inside a thrown `partialFailure` (B-BAT-03, B-BAT-05).
    private func failures(
        saving records: [CKRecord], deleting ids: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: CKError.Code] {
        var errors: [CKRecord.ID: CKError.Code] = [:]
        do {
            let results = try await b.database.modifyRecords(saving: records, deleting: ids, atomically: true)
            for (id, result) in results.saveResults {
                if case .failure(let error as CKError) = result { errors[id] = error.code }
            }
            for (id, result) in results.deleteResults {
                if case .failure(let error as CKError) = result { errors[id] = error.code }
            }
        } catch let error as CKError where error.code == .partialFailure {
            for (id, error) in error.partialErrorsByItemID ?? [:] {
                if let id = id.base as? CKRecord.ID, let error = error as? CKError { errors[id] = error.code }
            }
        }
        return errors
    }
}
