import CloudKitModel
import Foundation
import Synchronization

/// A zone: a set of records that are saved and fetched together (B-ZN). Compared by identity (B-ZN-17).
public final class CKRecordZone: NSObject, NSCopying, NSSecureCoding, Sendable {
    public typealias ID = CKRecordZoneID

    public let zoneID: CKRecordZone.ID
    /// What the zone can do. The server sets it on save; a zone made here shows nothing (B-ZN-04).
    public let capabilities: Capabilities
    /// The share of the whole zone, after a fetch (B-ZN-15).
    public let share: CKRecord.Reference?

    private let scope: Mutex<EncryptionScope>

    /// What the keys of the zone's encrypted values belong to (B-ZN-16).
    ///
    /// Fixed once the zone exists: saving it with another one fails with `CKError.serverRejectedRequest`. In a zone of scope
    /// ``EncryptionScope/perZone`` so does saving a share of a record with what lies below it.
    public var encryptionScope: EncryptionScope {
        get { scope.withLock { $0 } }
        set { scope.withLock { $0 = newValue } }
    }

    /// The default zone, as a local object (B-ZN-04).
    public class func `default`() -> CKRecordZone {
        CKRecordZone(zoneID: .default)
    }

    public convenience init(zoneName: String) {
        self.init(zoneID: CKRecordZone.ID(zoneName: zoneName, ownerName: CKCurrentUserDefaultName))
    }

    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, capabilities: [], share: nil, scope: .perRecord)
    }

    init(zoneID: CKRecordZone.ID, capabilities: Capabilities, share: CKRecord.Reference?, scope: EncryptionScope) {
        self.zoneID = zoneID
        self.capabilities = capabilities
        self.share = share
        self.scope = Mutex(scope)
        super.init()
    }

    /// The zone as the server reports it.
    convenience init(_ zone: Zone) {
        self.init(
            zoneID: CKRecordZone.ID(zone.id), capabilities: Capabilities(rawValue: zone.capabilities.rawValue),
            share: zone.share.map {
                CKRecord.Reference(
                    recordID: CKRecord.ID(named: $0, in: CKRecordZone.ID(zone.id)), action: .none)
            }, scope: EncryptionScope(zone.encryptionScope))
    }

    public func copy(with zone: NSZone? = nil) -> Any {
        CKRecordZone(zoneID: zoneID, capabilities: capabilities, share: share, scope: encryptionScope)
    }

    public override var description: String {
        "<CKRecordZone: \(addressText(of: self)); zoneID=\(zoneID.zoneName):\(zoneID.ownerName), "
            + "capabilities=\(capabilities.rawValue)>"
    }

    /// What a zone can do (B-ZN-04).
    public struct Capabilities: OptionSet, Sendable {
        public let rawValue: UInt

        public init(rawValue: UInt) { self.rawValue = rawValue }

        public static let fetchChanges = Capabilities(rawValue: 1)
        public static let atomic = Capabilities(rawValue: 2)
        public static let sharing = Capabilities(rawValue: 4)
        public static let zoneWideSharing = Capabilities(rawValue: 8)
    }

    /// What the keys of a zone's encrypted values belong to (B-ZN-16).
    public enum EncryptionScope: Int, Sendable {
        /// Records can be shared one by one, with what lies below them.
        case perRecord = 0
        /// The zone can be shared as a whole only.
        case perZone = 1

        init(_ scope: ZoneEncryptionScope) { self = scope == .perZone ? .perZone : .perRecord }

        var model: ZoneEncryptionScope { self == .perZone ? .perZone : .perRecord }
    }

    // MARK: Archiving

    public static var supportsSecureCoding: Bool { true }

    private struct Content: Codable {
        var zoneID: CKRecordZoneID.Content
        var capabilities: UInt
        var share: CKReference.Content?
        var scope: Int
    }

    public convenience init?(coder: NSCoder) {
        guard let content = Archive.decode(Content.self, from: coder), let id = CKRecordZoneID(content.zoneID) else {
            return nil
        }
        self.init(
            zoneID: id, capabilities: Capabilities(rawValue: content.capabilities),
            share: content.share.flatMap { CKReference($0) },
            scope: EncryptionScope(rawValue: content.scope) ?? .perRecord)
    }

    public func encode(with coder: NSCoder) {
        let content = Content(
            zoneID: zoneID.content, capabilities: capabilities.rawValue, share: share?.content,
            scope: encryptionScope.rawValue)
        Archive.encode(content, into: coder)
    }
}
