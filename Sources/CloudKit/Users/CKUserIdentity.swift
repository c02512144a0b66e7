import Foundation

/// A person with an account, as far as the caller may know (B-ACC-06).
public final class CKUserIdentity: NSObject, NSCopying, NSSecureCoding, Sendable {
    public typealias LookupInfo = CKUserIdentityLookupInfo

    public let userRecordID: CKRecord.ID?
    /// By what the person was found.
    public let lookupInfo: LookupInfo?
    /// nil where the person did not agree to be named.
    public let nameComponents: PersonNameComponents?
    public let hasiCloudAccount: Bool

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

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKUserIdentity)?.content == content
    }

    public override var hash: Int { content.hashValue }

    /// Without names and addresses: those do not belong into logs.
    public override var description: String {
        "<CKUserIdentity: \(addressText(of: self)); userRecordID=\(userRecordID?.recordName ?? "(null)"), "
            + "hasiCloudAccount=\(hasiCloudAccount)>"
    }

    // MARK: Archiving

    public static var supportsSecureCoding: Bool { true }

    struct Content: Codable, Hashable {
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

    public convenience init?(coder: NSCoder) {
        guard let content = Archive.decode(Content.self, from: coder) else { return nil }
        self.init(content)
    }

    public func encode(with coder: NSCoder) {
        Archive.encode(content, into: coder)
    }
}

/// By what a person is looked up: one of an address, a telephone number and a user record.
///
/// Apps write `CKUserIdentity.LookupInfo`; the class stands at top level because a nested one cannot be archived.
public final class CKUserIdentityLookupInfo: NSObject, NSCopying, NSSecureCoding, Sendable {
    public let emailAddress: String?
    public let phoneNumber: String?
    public let userRecordID: CKRecord.ID?

    public convenience init(emailAddress: String) {
        self.init(Content(emailAddress: emailAddress))
    }

    public convenience init(phoneNumber: String) {
        self.init(Content(phoneNumber: phoneNumber))
    }

    public convenience init(userRecordID: CKRecord.ID) {
        self.init(Content(userRecordID: userRecordID.content))
    }

    public class func lookupInfos(withEmails emails: [String]) -> [CKUserIdentity.LookupInfo] {
        emails.map { CKUserIdentity.LookupInfo(emailAddress: $0) }
    }

    public class func lookupInfos(withPhoneNumbers phoneNumbers: [String]) -> [CKUserIdentity.LookupInfo] {
        phoneNumbers.map { CKUserIdentity.LookupInfo(phoneNumber: $0) }
    }

    public class func lookupInfos(with recordIDs: [CKRecord.ID]) -> [CKUserIdentity.LookupInfo] {
        recordIDs.map { CKUserIdentity.LookupInfo(userRecordID: $0) }
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKUserIdentityLookupInfo)?.content == content
    }

    public override var hash: Int { content.hashValue }

    // MARK: Archiving

    public static var supportsSecureCoding: Bool { true }

    struct Content: Codable, Hashable {
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

    public convenience init?(coder: NSCoder) {
        guard let content = Archive.decode(Content.self, from: coder) else { return nil }
        self.init(content)
    }

    public func encode(with coder: NSCoder) {
        Archive.encode(content, into: coder)
    }
}
