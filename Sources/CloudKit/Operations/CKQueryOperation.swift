import CloudKitClient
import CloudKitModel
import Foundation

/// Searches for records of one type, one page at a time (B-QRY-01).
// Restates what `Operation` declares, see `CKOperation`.
open class CKQueryOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The position in a query’s results.
    public typealias Cursor = CKQueryCursor

    /// A marker, not a count: the server decides how many results a page has (B-QRY-19).
    public class var maximumResults: Int { 0 }

    /// The query to run; an operation has a query or a cursor.
    open var query: CKQuery?
    /// The position where an earlier operation ended; it contains the query and zone, but not the keys and limit
    /// (B-QRY-18).
    open var cursor: Cursor?
    /// nil: every zone of the database; the shared database needs one (B-QRY-01).
    open var zoneID: CKRecordZone.ID?
    /// At most so many results; fewer do not mean the end, a missing cursor does.
    open var resultsLimit: Int = CKQueryOperation.maximumResults
    /// The fields to fetch; nil: all, empty: only the record's metadata (B-REC-08).
    open var desiredKeys: [CKRecord.FieldKey]?

    /// The closure called with each match, or the error with which it cannot be opened.
    open var recordMatchedBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    /// The closure called at the end with the cursor of the next page; nil: this was the last one.
    open var queryResultBlock: ((Result<Cursor?, any Error>) -> Void)?
    /// The older block for one record.
    open var recordFetchedBlock: ((CKRecord) -> Void)?
    /// The older block for the whole.
    open var queryCompletionBlock: ((Cursor?, (any Error)?) -> Void)?

    private var next: Cursor?

    /// Creates an operation without arguments; set its properties before it is added to a database or container.
    public override init() { super.init() }

    /// Creates an operation that runs a query from the beginning.
    public convenience init(query: CKQuery) {
        self.init()
        self.query = query
    }

    /// Creates an operation that continues a query.
    public convenience init(cursor: Cursor) {
        self.init()
        self.cursor = cursor
    }

    override var longLivedArguments: LongLivedArguments? {
        .query(
            query: query.map { query in LongLivedArchive.write { query.encode(with: $0) } },
            cursor: cursor.map { cursor in LongLivedArchive.write { cursor.encode(with: $0) } },
            zone: zoneID?.content, limit: resultsLimit, desiredKeys: desiredKeys)
    }

    override func prepare() throws(CallFailure) -> @Sendable () async throws -> Void {
        let requests = requests()
        let request = try QueryRecordsRequest(
            query: query, cursor: cursor, zoneID: zoneID, resultsLimit: resultsLimit, desiredKeys: desiredKeys,
            scope: requests.scope)
        return {
            let page = try await requests.query(request)
            let opened = await requests.opened(page.records, desiredKeys: request.desiredKeys)
            let items = try await requests.withFiles(opened)
            await self.deliver { self.report(page, items) }
        }
    }

    private func report(_ page: QueryPage, _ items: [FetchedItem]) {
        for item in items {
            let result = item.asRecord()
            if case .success(let record) = result { recordFetchedBlock?(record) }
            recordMatchedBlock?(CKRecord.ID(item.id), result)
        }
        for (id, error) in page.damagedResults(in: zoneID) { recordMatchedBlock?(id, .failure(error)) }
        next = page.cursor(after: query, cursor, in: zoneID)
    }

    override func conclude(_ failure: CallFailure?) {
        if let failure {
            let error = CKError(failure)
            queryCompletionBlock?(nil, error)
            queryResultBlock?(.failure(error))
        } else {
            queryCompletionBlock?(next, nil)
            queryResultBlock?(.success(next))
        }
    }
}
