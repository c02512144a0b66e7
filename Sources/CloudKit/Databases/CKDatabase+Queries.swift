import CloudKitModel
import Foundation

extension CKDatabase {
    /// Returns the first page of the records that match a query.
    ///
    /// - Parameters:
    ///   - query: The record type, the condition and the order.
    ///   - zoneID: The zone to search; nil: every zone of the database; the shared database needs one (B-QRY-01).
    ///   - desiredKeys: The fields to fetch; nil: all, empty: only the record's metadata (B-REC-08).
    ///   - resultsLimit: The maximum number of records; by default the server decides (B-QRY-19).
    /// - Returns: The matches in the query's order, and a cursor for the next page; no cursor: this is the last page.
    nonisolated(nonsending) public func records(
        matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    ) {
        try await page(of: query, in: zoneID, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
    }

    /// The next page of a query; keys and limit are set again (B-QRY-18).
    nonisolated(nonsending) public func records(
        continuingMatchFrom queryCursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    ) {
        try await page(after: queryCursor, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
    }

    /// The first page of what matches a query, without a way to go on.
    @available(*, deprecated, renamed: "records(matching:inZoneWith:desiredKeys:resultsLimit:)")
    nonisolated(nonsending) public func perform(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?
    ) async throws -> [CKRecord] {
        try await page(of: query, in: zoneID).matchResults.map { try $0.1.get() }
    }

    /// The first page of what matches a query, without a way to go on.
    @available(*, deprecated, renamed: "records(matching:inZoneWith:desiredKeys:resultsLimit:)")
    @_disfavoredOverload
    nonisolated(nonsending) public func records(
        matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?
    ) async throws -> [CKRecord] {
        try await page(of: query, in: zoneID).matchResults.map { try $0.1.get() }
    }

    nonisolated(nonsending) private func page(
        of query: CKQuery? = nil, after cursor: CKQueryOperation.Cursor? = nil, in zoneID: CKRecordZone.ID? = nil,
        desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    ) {
        try await failing {
            let request = try QueryRecordsRequest(
                query: query, cursor: cursor, zoneID: zoneID, resultsLimit: resultsLimit, desiredKeys: desiredKeys,
                scope: scope)
            let requests = requests()
            let page = try await requests.query(request)
            let items = try await requests.withFiles(await requests.opened(page.records, desiredKeys: desiredKeys))
            let results = items.map { (CKRecord.ID($0.id), $0.asRecord()) }
            let failures = page.damagedResults(in: zoneID).map { ($0.0, Result<CKRecord, any Error>.failure($0.1)) }
            return (results + failures, page.cursor(after: query, cursor, in: zoneID))
        }
    }
}
