import CloudKitModel
import Foundation

/// The name of a record and its zone: identifies the record, across all types (B-REC-10). Compared by value.
///
/// Apps write `CKRecord.ID`; the class is at top level because a nested one cannot be archived.
public final class CKRecordID: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The name of the record, unique within its zone; at most 255 ASCII characters.
    public let recordName: String
    /// The zone of the record.
    public let zoneID: CKRecordZoneID

    /// A record of the default zone.
    public convenience init(recordName: String) {
        self.init(recordName: recordName, zoneID: .default)
    }

    /// - Parameters:
    ///   - recordName: 1 to 255 ASCII characters (B-LIM-11); a random UUID by default (B-REC-09). An empty name is a
    ///     bug of the caller and ends the process, where Apple's framework raises.
    ///   - zoneID: The default zone by default.
    public init(recordName: String = UUID().uuidString, zoneID: CKRecordZoneID = CKRecordZoneID.default) {
        // Apple's framework raises NSInvalidArgumentException here; Swift on Linux cannot raise.
        precondition(!recordName.isEmpty, "recordName can't be an empty string")
        self.recordName = recordName
        self.zoneID = zoneID
        super.init()
    }

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns a Boolean value that indicates whether another object holds the same value.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecordID else { return false }
        return recordName == other.recordName && zoneID.isEqual(other.zoneID)
    }

    /// The hash value of the contents.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(recordName)
        hasher.combine(zoneID.zoneName)
        hasher.combine(zoneID.ownerName)
        return hasher.finalize()
    }

    /// A textual form of the value, for logs and debugging.
    public override var description: String {
        "<CKRecordID: \(addressText(of: self)); recordName=\(recordName), "
            + "zoneID=\(zoneID.zoneName):\(zoneID.ownerName)>"
    }

    // MARK: Model

    convenience init(_ id: RecordID) {
        self.init(named: id.recordName, in: CKRecordZoneID(id.zoneID))
    }

    /// A name that came from a server: an empty one must not end the process.
    convenience init(named name: String, in zoneID: CKRecordZoneID) {
        self.init(recordName: name.isEmpty ? "?" : name, zoneID: zoneID)
    }

    /// The identifier as a Model value.
    var model: RecordID { RecordID(recordName: recordName, zoneID: zoneID.model) }

    // MARK: Archiving

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    struct Content: Encodable, ArchivedContent, Hashable {
        var recordName: String
        var zoneID: CKRecordZoneID.Content
    }

    var content: Content { Content(recordName: recordName, zoneID: zoneID.content) }

    convenience init?(_ content: Content) {
        guard !content.recordName.isEmpty, let zoneID = CKRecordZoneID(content.zoneID) else { return nil }
        self.init(recordName: content.recordName, zoneID: zoneID)
    }

    /// Creates the object from an archive; nil when the archive does not describe one.
    public convenience init?(coder: NSCoder) {
        guard let content = Archive.content(Content.self, from: coder) else { return nil }
        self.init(content)
    }

    /// Writes the object into an archive.
    public func encode(with coder: NSCoder) {
        Archive.encode(content, into: coder)
    }
}
