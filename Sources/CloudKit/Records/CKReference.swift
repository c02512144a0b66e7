import CloudKitModel
import Foundation

/// A pointer to another record of the same database and zone (B-REF-01). Compared by value.
///
/// Apps write `CKRecord.Reference`; the class is at top level because a nested one cannot be archived.
public final class CKReference: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The identifier of the target.
    public let recordID: CKRecord.ID
    /// The effect that deleting the target has on the record that holds the reference.
    public let action: CKRecord.ReferenceAction

    /// Creates a reference to a record by its identifier.
    public init(recordID: CKRecord.ID, action: CKRecord.ReferenceAction) {
        self.recordID = recordID
        self.action = action
        super.init()
    }

    /// Creates a reference to a record.
    public convenience init(record: CKRecord, action: CKRecord.ReferenceAction) {
        self.init(recordID: record.recordID, action: action)
    }

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns a Boolean value that indicates whether another object holds the same value.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKReference else { return false }
        return recordID.isEqual(other.recordID) && action == other.action
    }

    /// The hash value of the contents.
    public override var hash: Int { recordID.hash }

    /// A textual form of the value, for logs and debugging.
    public override var description: String {
        "<CKReference: \(addressText(of: self)); recordID=\(recordID.recordName):"
            + "(\(recordID.zoneID.zoneName):\(recordID.zoneID.ownerName)), action=\(action.rawValue)>"
    }

    // MARK: Archiving

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    struct Content: Encodable, ArchivedContent, Hashable {
        var recordID: CKRecordID.Content
        var action: UInt
    }

    var content: Content { Content(recordID: recordID.content, action: action.rawValue) }

    convenience init?(_ content: Content) {
        guard let recordID = CKRecordID(content.recordID) else { return nil }
        self.init(recordID: recordID, action: CKRecord.ReferenceAction(rawValue: content.action) ?? .none)
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

extension CKRecord {
    /// A reference from one record to another.
    public typealias Reference = CKReference

    /// The effect of deleting the target of a reference on the record that holds it (B-REF-07).
    public enum ReferenceAction: UInt, Sendable {
        case none = 0
        case deleteSelf = 1
    }
}

extension CKReference {
    /// The earlier name of `CKRecord.ReferenceAction`.
    @available(*, deprecated, renamed: "CKRecord.ReferenceAction")
    public typealias Action = CKRecord.ReferenceAction
}

/// The former name of the action of a reference.
@available(*, deprecated, renamed: "CKRecord.ReferenceAction")
public typealias CKRecord_Reference_Action = CKRecord.ReferenceAction

extension CKReference {
    /// - Parameter zoneID: The zone of the record that holds the reference, where the reference names none.
    convenience init(_ reference: ReferenceValue, in zoneID: CKRecordZoneID) {
        self.init(
            recordID: CKRecordID(
                named: reference.recordName, in: reference.zoneID.map { CKRecordZoneID($0) } ?? zoneID),
            action: reference.action == .deleteSelf ? .deleteSelf : .none)
    }

    /// Returns the reference as a Model value.
    ///
    /// - Parameter zoneID: The zone of the record that holds the reference; it is left out when it is the target's too.
    func model(in zoneID: CKRecordZoneID?) -> ReferenceValue {
        ReferenceValue(
            recordName: recordID.recordName,
            zoneID: zoneID.map(recordID.zoneID.isEqual) == true ? nil : recordID.zoneID.model,
            action: action == .deleteSelf ? .deleteSelf : .none)
    }
}
