import CloudKitModel
import Foundation

extension CKShare {
    public typealias AccessRequester = CKShareAccessRequester
    public typealias BlockedIdentity = CKShareBlockedIdentity
}

/// Somebody who asked to be let into a share (B-SHN-03).
///
/// Apps write `CKShare.AccessRequester`; the class stands at top level because a nested one cannot be archived.
public final class CKShareAccessRequester: NSObject, NSCopying, NSSecureCoding, Sendable {
    let person: PersonIdentity

    init(_ person: PersonIdentity) {
        self.person = person
        super.init()
    }

    public var userIdentity: CKUserIdentity { CKUserIdentity(person) }

    /// By what the participant is looked up who then is added to the share: that lets the person in.
    public var participantLookupInfo: CKUserIdentity.LookupInfo {
        userIdentity.lookupInfo
            ?? CKUserIdentity.LookupInfo(userRecordID: userIdentity.userRecordID ?? CKRecordID(recordName: "unknown"))
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool { (object as? CKShareAccessRequester)?.person == person }

    public override var hash: Int { person.hashValue }

    public static var supportsSecureCoding: Bool { true }

    public convenience init?(coder: NSCoder) {
        guard let person = Archive.decode(PersonIdentity.self, from: coder) else { return nil }
        self.init(person)
    }

    public func encode(with coder: NSCoder) { Archive.encode(person, into: coder) }
}

/// Somebody who may not ask to be let into a share (B-SHN-03).
///
/// Apps write `CKShare.BlockedIdentity`; the class stands at top level because a nested one cannot be archived.
public final class CKShareBlockedIdentity: NSObject, NSCopying, NSSecureCoding, Sendable {
    let person: PersonIdentity

    init(_ person: PersonIdentity) {
        self.person = person
        super.init()
    }

    public var userIdentity: CKUserIdentity { CKUserIdentity(person) }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool { (object as? CKShareBlockedIdentity)?.person == person }

    public override var hash: Int { person.hashValue }

    public static var supportsSecureCoding: Bool { true }

    public convenience init?(coder: NSCoder) {
        guard let person = Archive.decode(PersonIdentity.self, from: coder) else { return nil }
        self.init(person)
    }

    public func encode(with coder: NSCoder) { Archive.encode(person, into: coder) }
}
