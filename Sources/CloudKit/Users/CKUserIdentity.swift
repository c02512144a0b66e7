import Foundation

/// A user with an account, as far as the caller may know them (B-ACC-06).
public final class CKUserIdentity: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The address or identifier that a user is looked up by.
    public typealias LookupInfo = CKUserIdentityLookupInfo

    /// The identifier of the user’s record.
    public let userRecordID: CKRecord.ID?
    /// The address or identifier that found the user.
    public let lookupInfo: LookupInfo?
    /// nil where the person did not agree to be named.
    public let nameComponents: PersonNameComponents?
    /// A Boolean value that indicates whether the user has an account.
    public let hasiCloudAccount: Bool

    /// The identifiers of matching contacts; always empty, because there is no address book.
    @available(*, deprecated, message: "There are no contacts to match")
    public var contactIdentifiers: [String] { [] }

    init(
        userRecordID: CKRecord.ID?, lookupInfo: LookupInfo?, nameComponents: PersonNameComponents?,
        hasiCloudAccount: Bool
    ) {
        self.userRecordID = userRecordID
        self.lookupInfo = lookupInfo
        self.nameComponents = nameComponents
        self.hasiCloudAccount = hasiCloudAccount
        super.init()
    }

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns a Boolean value that indicates whether another object holds the same value.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKUserIdentity)?.content == content
    }

    /// The hash value of the contents.
    public override var hash: Int { content.hashValue }

    /// Without names and addresses: those do not belong into logs.
    public override var description: String {
        "<CKUserIdentity: \(addressText(of: self)); userRecordID=\(userRecordID?.recordName ?? "(null)"), "
            + "hasiCloudAccount=\(hasiCloudAccount)>"
    }

    // MARK: Archiving

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    struct Content: Encodable, ArchivedContent, Hashable {
        var userRecordID: CKRecordID.Content?
        var lookupInfo: CKUserIdentityLookupInfo.Content?
        var nameComponents: PersonNameComponents?
        var hasAccount: Bool
    }

    var content: Content {
        Content(
            userRecordID: userRecordID?.content, lookupInfo: lookupInfo?.content, nameComponents: nameComponents,
            hasAccount: hasiCloudAccount)
    }

    convenience init(_ content: Content) {
        self.init(
            userRecordID: content.userRecordID.flatMap { CKRecordID($0) },
            lookupInfo: content.lookupInfo.map { CKUserIdentityLookupInfo($0) },
            nameComponents: content.nameComponents, hasiCloudAccount: content.hasAccount)
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

/// The key of a user look-up: an address, a phone number or a user record.
///
/// Apps write `CKUserIdentity.LookupInfo`; the class is at top level because a nested one cannot be archived.
public final class CKUserIdentityLookupInfo: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The e-mail address to look up.
    public let emailAddress: String?
    /// The phone number to look up.
    public let phoneNumber: String?
    /// The identifier of the user’s record.
    public let userRecordID: CKRecord.ID?

    /// Creates a look-up by e-mail address.
    public convenience init(emailAddress: String) {
        self.init(Content(emailAddress: emailAddress))
    }

    /// Creates a look-up by phone number.
    public convenience init(phoneNumber: String) {
        self.init(Content(phoneNumber: phoneNumber))
    }

    /// Creates a look-up by user record.
    public convenience init(userRecordID: CKRecord.ID) {
        self.init(Content(userRecordID: userRecordID.content))
    }

    /// Returns look-ups for several e-mail addresses.
    public class func lookupInfos(withEmails emails: [String]) -> [CKUserIdentity.LookupInfo] {
        emails.map { CKUserIdentity.LookupInfo(emailAddress: $0) }
    }

    /// Returns look-ups for several phone numbers.
    public class func lookupInfos(withPhoneNumbers phoneNumbers: [String]) -> [CKUserIdentity.LookupInfo] {
        phoneNumbers.map { CKUserIdentity.LookupInfo(phoneNumber: $0) }
    }

    /// Returns look-ups for several user records.
    public class func lookupInfos(with recordIDs: [CKRecord.ID]) -> [CKUserIdentity.LookupInfo] {
        recordIDs.map { CKUserIdentity.LookupInfo(userRecordID: $0) }
    }

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns a Boolean value that indicates whether another object holds the same value.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKUserIdentityLookupInfo)?.content == content
    }

    /// The hash value of the contents.
    public override var hash: Int { content.hashValue }

    // MARK: Archiving

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    struct Content: Encodable, ArchivedContent, Hashable {
        var emailAddress: String?
        var phoneNumber: String?
        var userRecordID: CKRecordID.Content?
    }

    var content: Content {
        Content(emailAddress: emailAddress, phoneNumber: phoneNumber, userRecordID: userRecordID?.content)
    }

    init(_ content: Content) {
        emailAddress = content.emailAddress
        phoneNumber = content.phoneNumber
        userRecordID = content.userRecordID.flatMap { CKRecordID($0) }
        super.init()
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
