import CloudKitModel
import Foundation

/// A pointer to another record of the same database and zone (B-REF-01). Compared by value.
///
/// Apps write `CKRecord.Reference`; the class stands at top level because a nested one cannot be archived.
public final class CKReference: NSObject, NSCopying, NSSecureCoding, Sendable {
    public let recordID: CKRecord.ID
    public let action: CKRecord.ReferenceAction

    public init(recordID: CKRecord.ID, action: CKRecord.ReferenceAction) {
        self.recordID = recordID
        self.action = action
        super.init()
    }

    public convenience init(record: CKRecord, action: CKRecord.ReferenceAction) {
        self.init(recordID: record.recordID, action: action)
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKReference else { return false }
        return recordID.isEqual(other.recordID) && action == other.action
    }

    public override var hash: Int { recordID.hash }

    public override var description: String {
        "<CKReference: \(addressText(of: self)); recordID=\(recordID.recordName):"
            + "(\(recordID.zoneID.zoneName):\(recordID.zoneID.ownerName)), action=\(action.rawValue)>"
    }

    // MARK: Archiving

    public static var supportsSecureCoding: Bool { true }

    struct Content: Codable, Hashable {
        var recordID: CKRecordID.Content
        var action: UInt
    }

    var content: Content { Content(recordID: recordID.content, action: action.rawValue) }

    convenience init?(_ content: Content) {
        guard let recordID = CKRecordID(content.recordID) else { return nil }
        self.init(recordID: recordID, action: CKRecord.ReferenceAction(rawValue: content.action) ?? .none)
    }

    public convenience init?(coder: NSCoder) {
        guard let content = Archive.decode(Content.self, from: coder) ?? Self.appleContent(in: coder) else {
            return nil
        }
        self.init(content)
    }

    private static func appleContent(in coder: NSCoder) -> Content? {
        let archive = AppleArchive(coder)
        return archive.object(CKRecordID.self, "RecordID").map {
            Content(recordID: $0.content, action: UInt(clamping: archive.integer("ReferenceAction")))
        }
    }

    public func encode(with coder: NSCoder) {
        Archive.encode(content, into: coder)
    }
}

extension CKRecord {
    public typealias Reference = CKReference

    /// What happens to the holder of a reference when its target is deleted (B-REF-07).
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

    /// The reference as the other rooms write it.
    ///
    /// - Parameter zoneID: The zone of the record that holds the reference; it is left out when it is the target's too.
    func model(in zoneID: CKRecordZoneID?) -> ReferenceValue {
        ReferenceValue(
            recordName: recordID.recordName,
            zoneID: zoneID.map(recordID.zoneID.isEqual) == true ? nil : recordID.zoneID.model,
            action: action == .deleteSelf ? .deleteSelf : .none)
    }
}
