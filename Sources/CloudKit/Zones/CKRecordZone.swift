import CloudKitModel
import Foundation
import Synchronization

/// A zone: a set of records that are saved and fetched together (B-ZN). Compared by identity (B-ZN-17).
public final class CKRecordZone: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The identifier of a zone.
    public typealias ID = CKRecordZoneID

    /// The identifier of the zone.
    public let zoneID: CKRecordZone.ID
    /// The capabilities of the zone. The server sets them on save; a zone created here has none (B-ZN-04).
    public let capabilities: Capabilities
    /// The share of the whole zone, after a fetch (B-ZN-15).
    public let share: CKRecord.Reference?

    private let scope: Mutex<EncryptionScope>

    /// The scope of the keys of the zone's encrypted values (B-ZN-16).
    ///
    /// Fixed once the zone exists: saving it with another scope fails with `CKError.serverRejectedRequest`. In a zone
    /// of scope ``EncryptionScope/perZone`` so does saving a share of a record tree.
    public var encryptionScope: EncryptionScope {
        get { scope.withLock { $0 } }
        set { scope.withLock { $0 = newValue } }
    }

    /// The default zone, as a local object (B-ZN-04).
    public class func `default`() -> CKRecordZone {
        CKRecordZone(zoneID: .default)
    }

    /// Creates a zone of the current user.
    ///
    /// - Parameter zoneName: At most 255 ASCII characters that do not begin with an underscore.
    public convenience init(zoneName: String) {
        self.init(zoneID: CKRecordZone.ID(zoneName: zoneName, ownerName: CKCurrentUserDefaultName))
    }

    /// Creates a zone with an identifier.
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

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any {
        CKRecordZone(zoneID: zoneID, capabilities: capabilities, share: share, scope: encryptionScope)
    }

    /// A textual form of the value, for logs and debugging.
    public override var description: String {
        "<CKRecordZone: \(addressText(of: self)); zoneID=\(zoneID.zoneName):\(zoneID.ownerName), "
            + "capabilities=\(capabilities.rawValue)>"
    }

    /// The capabilities of a zone (B-ZN-04).
    public struct Capabilities: OptionSet, Sendable {
        /// The bits of the options.
        public let rawValue: UInt

        /// Creates a set of options from its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// The zone has a change feed.
        public static let fetchChanges = Capabilities(rawValue: 1)
        /// Batches of changes to the zone are atomic.
        public static let atomic = Capabilities(rawValue: 2)
        /// Records of the zone can be shared.
        public static let sharing = Capabilities(rawValue: 4)
        /// The zone can be shared as a whole.
        public static let zoneWideSharing = Capabilities(rawValue: 8)
    }

    /// The scope of the keys of a zone's encrypted values (B-ZN-16).
    public enum EncryptionScope: Int, Sendable {
        /// Records can be shared individually, with the records below them.
        case perRecord = 0
        /// The zone can be shared as a whole only.
        case perZone = 1

        init(_ scope: ZoneEncryptionScope) { self = scope == .perZone ? .perZone : .perRecord }

        var model: ZoneEncryptionScope { self == .perZone ? .perZone : .perRecord }
    }

    // MARK: Archiving

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    private struct Content: Encodable, ArchivedContent {
        var zoneID: CKRecordZoneID.Content
        var capabilities: UInt
        var share: CKReference.Content?
        var scope: Int

        init(zoneID: CKRecordZoneID.Content, capabilities: UInt, share: CKReference.Content?, scope: Int) {
            self.zoneID = zoneID
            self.capabilities = capabilities
            self.share = share
            self.scope = scope
        }

        /// A zone in an archive of Apple's framework; nil for any other object.
        init?(apple archived: ArchivedObject) {
            guard let zoneID = archived.zoneID("ZoneID") else { return nil }
            self.init(
                zoneID: zoneID.content, capabilities: archived.number("Capabilities")?.uintValue ?? 0,
                share: archived.reference("ShareReference")?.content, scope: 0)
        }
    }

    /// Creates the object from an archive; nil when the archive does not describe one.
    public convenience init?(coder: NSCoder) {
        guard let content = Archive.content(Content.self, from: coder), let id = CKRecordZoneID(content.zoneID)
        else { return nil }
        self.init(
            zoneID: id, capabilities: Capabilities(rawValue: content.capabilities),
            share: content.share.flatMap { CKReference($0) },
            scope: EncryptionScope(rawValue: content.scope) ?? .perRecord)
    }

    /// Writes the object into an archive.
    public func encode(with coder: NSCoder) {
        let content = Content(
            zoneID: zoneID.content, capabilities: capabilities.rawValue, share: share?.content,
            scope: encryptionScope.rawValue)
        Archive.encode(content, into: coder)
    }
}
