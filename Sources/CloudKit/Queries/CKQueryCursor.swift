import CloudKitModel
import Foundation

/// Where a query goes on: the query, its zone, and how far it came (B-QRY-18). The keys wanted and the limit are set
/// again by whoever goes on.
///
/// Apps write `CKQueryOperation.Cursor`; the class stands at top level because a nested one cannot be archived.
public final class CKQueryCursor: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// What the server wrote, given back to it as it is.
    let marker: String
    /// The query as it was asked; a cursor is an offset into a repeated search.
    let query: CKQuery
    /// nil: all zones of the database.
    let zoneID: CKRecordZone.ID?

    init(marker: String, query: CKQuery, zoneID: CKRecordZone.ID?) {
        self.marker = marker
        self.query = CKQuery(recordType: query.recordType, tree: query.tree, order: query.sortTerms)
        self.zoneID = zoneID
        super.init()
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKQueryCursor else { return false }
        return marker == other.marker && zoneID == other.zoneID && query.recordType == other.query.recordType
    }

    public override var hash: Int { marker.hashValue }

    // MARK: Archiving

    public static var supportsSecureCoding: Bool { true }

    private struct Content: Codable {
        var marker: String
        var recordType: String
        var predicate: PredicateTree
        var order: [QuerySortTerm]?
        var zoneID: CKRecordZoneID.Content?
    }

    public convenience init?(coder: NSCoder) {
        guard let content = Archive.decode(Content.self, from: coder) else { return nil }
        self.init(
            marker: content.marker,
            query: CKQuery(recordType: content.recordType, tree: content.predicate, order: content.order),
            zoneID: content.zoneID.flatMap { CKRecordZoneID($0) })
    }

    public func encode(with coder: NSCoder) {
        Archive.encode(
            Content(
                marker: marker, recordType: query.recordType, predicate: query.tree, order: query.sortTerms,
                zoneID: zoneID?.content), into: coder)
    }
}
