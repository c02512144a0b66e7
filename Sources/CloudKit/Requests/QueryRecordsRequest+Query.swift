import CloudKitClient
import CloudKitModel

extension QueryRecordsRequest {
    /// Creates the request for a query, or for the cursor of an earlier one.
    ///
    /// - Throws: `CallFailure.invalidArguments` without query and cursor, for a condition that CloudKit cannot run
    ///   (B-QRY-17), and in the shared database without a zone (B-QRY-01).
    init(
        query: CKQuery?, cursor: CKQueryCursor?, zoneID: CKRecordZone.ID?, resultsLimit: Int, desiredKeys: [String]?,
        scope: DatabaseScope
    ) throws(CallFailure) {
        guard let asked = cursor?.query ?? query else {
            throw .invalidArguments("A query operation needs a query or a cursor")
        }
        let zoneID = cursor == nil ? zoneID : cursor?.zoneID
        if scope == .shared, zoneID == nil {
            throw .invalidArguments("A query in the shared database needs a zone")
        }
        let model: Query
        do throws(CKError) {
            model = try asked.model(in: zoneID)
        } catch {
            throw .invalidArguments(error.localizedDescription)
        }
        // The public database has one zone; naming none means the same there.
        self.init(
            query: model, zoneID: zoneID?.model, zoneWide: zoneID == nil && scope != .public,
            resultsLimit: resultsLimit.positiveOrNil, continuationMarker: cursor?.marker, desiredKeys: desiredKeys)
    }
}

extension QueryPage {
    /// Returns the errors of matching records that the cloud could not return, in the order of their names.
    func damagedResults(in zoneID: CKRecordZone.ID?) -> [(CKRecord.ID, CKError)] {
        failures.sorted { $0.key < $1.key }.map { name, failure in
            (CKRecord.ID(recordName: name, zoneID: zoneID ?? .default), CKError(failure))
        }
    }

    /// Returns the cursor of the next page; nil: this is the last one (B-QRY-18).
    func cursor(after query: CKQuery?, _ cursor: CKQueryCursor?, in zoneID: CKRecordZone.ID?) -> CKQueryCursor? {
        guard let continuationMarker, let asked = cursor?.query ?? query else { return nil }
        return CKQueryCursor(
            marker: continuationMarker, query: asked, zoneID: cursor == nil ? zoneID : cursor?.zoneID)
    }
}

extension Int {
    /// 0 and below: no limit of the app's own.
    var positiveOrNil: Int? { self > 0 ? self : nil }
}
