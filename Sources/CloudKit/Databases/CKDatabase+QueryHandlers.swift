import Foundation

extension _CKDatabaseHandlers {
    /// The first page of what matches a query, without a way to go on.
    @available(*, deprecated, renamed: "fetch(withQuery:inZoneWith:desiredKeys:resultsLimit:completionHandler:)")
    @preconcurrency
    public func perform(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?,
        completionHandler: @escaping @Sendable ([CKRecord]?, (any Error)?) -> Void
    ) {
        fetch(withQuery: query, inZoneWith: zoneID) { page in
            let records = page.flatMap { page in Result { try page.matchResults.map { try $0.1.get() } } }
            Self.complete(records, to: completionHandler)
        }
    }
}

extension CKDatabase {
    /// The first page of what matches a query, see `records(matching:inZoneWith:desiredKeys:resultsLimit:)`.
    @preconcurrency
    public func fetch(
        withQuery query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)],
                        queryCursor: CKQueryOperation.Cursor?
                    ), any Error
                >
            ) -> Void
    ) {
        let operation = CKQueryOperation(query: query)
        operation.zoneID = zoneID
        start(
            operation, desiredKeys: desiredKeys, resultsLimit: resultsLimit, completionHandler: completionHandler)
    }

    /// The next page of a query, see `records(continuingMatchFrom:desiredKeys:resultsLimit:)`.
    @preconcurrency
    public func fetch(
        withCursor queryCursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)],
                        queryCursor: CKQueryOperation.Cursor?
                    ), any Error
                >
            ) -> Void
    ) {
        start(
            CKQueryOperation(cursor: queryCursor), desiredKeys: desiredKeys, resultsLimit: resultsLimit,
            completionHandler: completionHandler)
    }

    private func start(
        _ operation: CKQueryOperation, desiredKeys: [CKRecord.FieldKey]?, resultsLimit: Int,
        completionHandler handler:
            @escaping @Sendable (
                Result<
                    (
                        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)],
                        queryCursor: CKQueryOperation.Cursor?
                    ), any Error
                >
            ) -> Void
    ) {
        operation.desiredKeys = desiredKeys
        operation.resultsLimit = resultsLimit
        var matches: [(CKRecord.ID, Result<CKRecord, any Error>)] = []
        operation.recordMatchedBlock = { matches.append(($0, $1)) }
        operation.queryResultBlock = { handler($0.map { (matches, $0) }) }
        start(operation)
    }
}
