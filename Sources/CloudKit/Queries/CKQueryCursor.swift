import CloudKitModel
import Foundation

/// The position where a query continues: the query, its zone, and the server's marker (B-QRY-18). The desired keys and
/// the limit are set again by the caller.
///
/// Apps write `CKQueryOperation.Cursor`; the class is at top level because a nested one cannot be archived.
public final class CKQueryCursor: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The server's marker, sent back unchanged.
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

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns a Boolean value that indicates whether another object holds the same value.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKQueryCursor else { return false }
        return marker == other.marker && zoneID == other.zoneID && query.recordType == other.query.recordType
    }

    /// The hash value of the contents.
    public override var hash: Int { marker.hashValue }

    // MARK: Archiving

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    private struct Content: Encodable, ArchivedContent {
        var marker: String
        var recordType: String
        var predicate: PredicateTree
        var order: [SortDescriptorTerm]?
        var zoneID: CKRecordZoneID.Content?

        init(
            marker: String, recordType: String, predicate: PredicateTree, order: [SortDescriptorTerm]?,
            zoneID: CKRecordZoneID.Content?
        ) {
            self.marker = marker
            self.recordType = recordType
            self.predicate = predicate
            self.order = order
            self.zoneID = zoneID
        }

        /// A cursor in an archive of Apple's framework, which holds no query that another cloud could continue; nil for any other object.
        init?(apple archived: ArchivedObject) {
            guard let data = archived.data("CursorData") else { return nil }
            self.init(
                marker: data.base64EncodedString(), recordType: "?",
                predicate: .malformed("A cursor of Apple's cloud cannot be continued here; run the query again"),
                order: nil, zoneID: archived.zoneID("ZoneID")?.content)
        }
    }

    /// Creates the object from an archive; nil when the archive does not describe one.
    public convenience init?(coder: NSCoder) {
        guard let content = Archive.content(Content.self, from: coder) else { return nil }
        self.init(
            marker: content.marker,
            query: CKQuery(recordType: content.recordType, tree: content.predicate, order: content.order),
            zoneID: content.zoneID.flatMap { CKRecordZoneID($0) })
    }

    /// Writes the object into an archive.
    public func encode(with coder: NSCoder) {
        Archive.encode(
            Content(
                marker: marker, recordType: query.recordType, predicate: query.tree, order: query.sortTerms,
                zoneID: zoneID?.content), into: coder)
    }
}
