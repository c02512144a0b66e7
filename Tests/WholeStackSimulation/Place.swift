import CloudKit

/// A zone as one user reaches it.
struct Place: Sendable {
    /// The owner of its records in the ledger.
    var owner: String
    var scope: CKDatabase.Scope
    var zoneID: CKRecordZone.ID
    /// Whether the user may write.
    var writes: Writes
    /// The record below which others' records have to be; nil: the zone is shared as a whole, or not at all.
    var root: CKRecord.ID?
    /// Whether the user's rights change meanwhile.
    var isContested = false
    /// Whether the owner moves records out of the shared tree and back.
    var hasMoves = false
    /// Whether some of its records have a file.
    var hasFiles = false

    enum Writes: Sendable {
        case all
        /// Public records belong to those who made them.
        case own
        case none
    }

    /// Whether the user moves records out of the shared tree and back.
    var movesRecords: Bool { hasMoves && !isContested }
    /// Whether records leave what the user can see, and return.
    var losesRecords: Bool { hasMoves && isContested }
    var isDefault: Bool { zoneID.zoneName == CKRecordZone.ID.defaultZoneName }
    var isSealed: Bool { scope != .public }
    var recordType: String { scope == .public ? "Post" : "Item" }

    func cell(_ name: String) -> Cell { Cell(owner: owner, zone: zoneID.zoneName, name: name) }
    /// The place of a share, whose title is its content.
    func shareCell(_ name: String) -> Cell { Cell(owner: owner, zone: zoneID.zoneName + " share", name: name) }
    /// Whether a name is that of the root of a tree.
    static func isRoot(_ name: String) -> Bool { name.hasPrefix("Root") }
    func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

    func database(_ container: CKContainer) -> CKDatabase { container.database(with: scope) }
}
