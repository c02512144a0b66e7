import Foundation
import Synchronization

/// The access that a sharing interface lets people choose.
public struct CKSharingParticipantAccessOption: OptionSet, Sendable {
    /// The bits of the options.
    public let rawValue: UInt

    /// Creates a set from its bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Everyone who has the link may join.
    public static var anyoneWithLink: CKSharingParticipantAccessOption { .init(rawValue: 1) }
    /// Only invited people may join.
    public static var specifiedRecipientsOnly: CKSharingParticipantAccessOption { .init(rawValue: 2) }
    /// People choose between both.
    public static var any: CKSharingParticipantAccessOption { [.anyoneWithLink, .specifiedRecipientsOnly] }
}

/// The permissions that a sharing interface lets people choose.
public struct CKSharingParticipantPermissionOption: OptionSet, Sendable {
    /// The bits of the options.
    public let rawValue: UInt

    /// Creates a set from its bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Participants read.
    public static var readOnly: CKSharingParticipantPermissionOption { .init(rawValue: 1) }
    /// Participants read and change.
    public static var readWrite: CKSharingParticipantPermissionOption { .init(rawValue: 2) }
    /// People choose between both.
    public static var any: CKSharingParticipantPermissionOption { [.readOnly, .readWrite] }
}

/// What a sharing interface lets people choose for a share (B-UI-03).
///
/// The interface itself is in the module `CloudKitUI`.
public final class CKAllowedSharingOptions: NSObject, NSCopying, NSSecureCoding, Sendable {
    private struct Content: Codable, Hashable {
        var permissions: UInt
        var access: UInt
        var allowsAccessRequests = false
        var allowsParticipantsToInviteOthers = false
    }

    private let content: Mutex<Content>

    private init(_ content: Content) {
        self.content = Mutex(content)
        super.init()
    }

    /// Creates options; leaving out one of two permissions, or of two kinds of access, hides the choice and sets the other.
    public convenience init(
        allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption,
        allowedParticipantAccessOptions: CKSharingParticipantAccessOption
    ) {
        self.init(
            Content(
                permissions: allowedParticipantPermissionOptions.rawValue,
                access: allowedParticipantAccessOptions.rawValue))
    }

    /// Options that allow all permissions and kinds of access.
    public class var standard: CKAllowedSharingOptions {
        CKAllowedSharingOptions(allowedParticipantPermissionOptions: .any, allowedParticipantAccessOptions: .any)
    }

    /// The permissions that can be chosen.
    public var allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption {
        get { CKSharingParticipantPermissionOption(rawValue: content.withLock { $0.permissions }) }
        set { content.withLock { $0.permissions = newValue.rawValue } }
    }

    /// The kinds of access that can be chosen.
    public var allowedParticipantAccessOptions: CKSharingParticipantAccessOption {
        get { CKSharingParticipantAccessOption(rawValue: content.withLock { $0.access }) }
        set { content.withLock { $0.access = newValue.rawValue } }
    }

    /// A Boolean value that indicates whether the interface offers to take requests for access (B-SHN-02); false at first.
    public var allowsAccessRequests: Bool {
        get { content.withLock { $0.allowsAccessRequests } }
        set { content.withLock { $0.allowsAccessRequests = newValue } }
    }

    /// A Boolean value that indicates whether the interface offers to let participants invite others (B-PRT-07); false at first.
    public var allowsParticipantsToInviteOthers: Bool {
        get { content.withLock { $0.allowsParticipantsToInviteOthers } }
        set { content.withLock { $0.allowsParticipantsToInviteOthers = newValue } }
    }

    /// Returns separate options: changes to a copy do not affect the original.
    public func copy(with zone: NSZone? = nil) -> Any { CKAllowedSharingOptions(content.withLock { $0 }) }

    /// Returns a Boolean value that indicates whether another object allows the same.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKAllowedSharingOptions else { return false }
        return other.content.withLock { $0 } == content.withLock { $0 }
    }

    /// The hash value of the contents.
    public override var hash: Int { content.withLock { $0 }.hashValue }

    // MARK: Archiving

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    /// Creates options from an archive; nil when the archive does not describe any.
    public convenience init?(coder: NSCoder) {
        guard let content = Archive.decode(Content.self, from: coder) else { return nil }
        self.init(content)
    }

    /// Writes the options into an archive.
    public func encode(with coder: NSCoder) { Archive.encode(content.withLock { $0 }, into: coder) }
}
