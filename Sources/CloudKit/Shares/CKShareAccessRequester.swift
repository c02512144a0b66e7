import CloudKitModel
import Foundation

extension CKShare {
    /// A user who asks for access to a share.
    public typealias AccessRequester = CKShareAccessRequester
    /// A user who cannot ask for access to a share any more.
    public typealias BlockedIdentity = CKShareBlockedIdentity
}

/// A user who asked for access to a share (B-SHN-03).
///
/// Apps write `CKShare.AccessRequester`; the class is at top level because a nested one cannot be archived.
public final class CKShareAccessRequester: NSObject, NSCopying, NSSecureCoding, Sendable {
    let person: PersonIdentity

    init(_ person: PersonIdentity) {
        self.person = person
        super.init()
    }

    /// The identity of the user.
    public var userIdentity: CKUserIdentity { CKUserIdentity(person) }

    /// The look-up for the participant to add to the share, which grants the user access.
    public var participantLookupInfo: CKUserIdentity.LookupInfo {
        userIdentity.lookupInfo
            ?? CKUserIdentity.LookupInfo(userRecordID: userIdentity.userRecordID ?? CKRecordID(recordName: "unknown"))
    }

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns a Boolean value that indicates whether another object holds the same value.
    public override func isEqual(_ object: Any?) -> Bool { (object as? CKShareAccessRequester)?.person == person }

    /// The hash value of the contents.
    public override var hash: Int { person.hashValue }

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    /// Creates the object from an archive; nil when the archive does not describe one.
    public convenience init?(coder: NSCoder) {
        guard let person = Archive.decode(PersonIdentity.self, from: coder) else { return nil }
        self.init(person)
    }

    /// Writes the object into an archive.
    public func encode(with coder: NSCoder) { Archive.encode(person, into: coder) }
}

/// A user who may not ask for access to a share (B-SHN-03).
///
/// Apps write `CKShare.BlockedIdentity`; the class is at top level because a nested one cannot be archived.
public final class CKShareBlockedIdentity: NSObject, NSCopying, NSSecureCoding, Sendable {
    let person: PersonIdentity

    init(_ person: PersonIdentity) {
        self.person = person
        super.init()
    }

    /// The identity of the user.
    public var userIdentity: CKUserIdentity { CKUserIdentity(person) }

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns a Boolean value that indicates whether another object holds the same value.
    public override func isEqual(_ object: Any?) -> Bool { (object as? CKShareBlockedIdentity)?.person == person }

    /// The hash value of the contents.
    public override var hash: Int { person.hashValue }

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    /// Creates the object from an archive; nil when the archive does not describe one.
    public convenience init?(coder: NSCoder) {
        guard let person = Archive.decode(PersonIdentity.self, from: coder) else { return nil }
        self.init(person)
    }

    /// Writes the object into an archive.
    public func encode(with coder: NSCoder) { Archive.encode(person, into: coder) }
}
