// Constants and functions carry the names that published code spells.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation

/// Stands for the current user as the owner of a zone (B-ZN-01).
public let CKCurrentUserDefaultName: String = "__defaultOwner__"

/// The earlier name of `CKCurrentUserDefaultName`.
@available(*, deprecated, renamed: "CKCurrentUserDefaultName")
public let CKOwnerDefaultName: String = "__defaultOwner__"

/// The name of a zone and of its owner: identifies the zone (B-ZN-01). Compared by value (B-ZN-17).
///
/// Apps write `CKRecordZone.ID`; the class is at top level because a nested one cannot be archived.
public final class CKRecordZoneID: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The name of the zone, unique among the zones of its owner in a database.
    public let zoneName: String
    /// `CKCurrentUserDefaultName`, or in the shared database the record name of the owner (B-ZN-02).
    public let ownerName: String

    /// The zone that every database has.
    public static let `default` = CKRecordZoneID(zoneName: defaultZoneName, ownerName: CKCurrentUserDefaultName)

    /// The name of the default zone, `_defaultZone`.
    public static let defaultZoneName: String = "_defaultZone"

    /// - Parameters:
    ///   - zoneName: 1 to 255 ASCII characters that do not begin with `_` (B-LIM-11); an empty name is a bug of the
    ///     caller and ends the process, where Apple's framework raises.
    ///   - ownerName: The record name of a user.
    public init(
        zoneName: String = CKRecordZoneID.defaultZoneName, ownerName: String = CKCurrentUserDefaultName
    ) {
        // Apple's framework raises NSInvalidArgumentException here; Swift on Linux cannot raise.
        precondition(!zoneName.isEmpty, "zoneName can't be an empty string")
        precondition(!ownerName.isEmpty, "ownerName can't be an empty string")
        self.zoneName = zoneName
        self.ownerName = ownerName
        super.init()
    }

    /// The form from before iOS 10, in which nil is the current user.
    @available(*, deprecated)
    @_disfavoredOverload
    public convenience init(
        zoneName: String = CKRecordZoneID.defaultZoneName, ownerName: String? = CKOwnerDefaultName
    ) {
        self.init(zoneName: zoneName, ownerName: ownerName ?? CKCurrentUserDefaultName)
    }

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns a Boolean value that indicates whether another object holds the same value.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecordZoneID else { return false }
        return zoneName == other.zoneName && ownerName == other.ownerName
    }

    /// The hash value of the contents.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(zoneName)
        hasher.combine(ownerName)
        return hasher.finalize()
    }

    /// A textual form of the value, for logs and debugging.
    public override var description: String {
        "<CKRecordZoneID: \(addressText(of: self)); ownerName=\(ownerName), zoneName=\(zoneName)>"
    }

    // MARK: Archiving

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    struct Content: Encodable, ArchivedContent, Hashable {
        var zoneName: String
        var ownerName: String
    }

    var content: Content { Content(zoneName: zoneName, ownerName: ownerName) }

    convenience init?(_ content: Content) {
        guard !content.zoneName.isEmpty, !content.ownerName.isEmpty else { return nil }
        self.init(zoneName: content.zoneName, ownerName: content.ownerName)
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

/// The address of an object as descriptions show it.
func addressText(of object: AnyObject) -> String {
    "0x" + String(UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque()), radix: 16)
}
