import Foundation

extension CKUserIdentityLookupInfo.Content {
    /// A look-up in an archive of Apple's framework; nil for any other object.
    init?(apple archived: ArchivedObject) {
        self.init(
            emailAddress: archived.string("EmailAddress"), phoneNumber: archived.string("PhoneNumber"),
            userRecordID: archived.recordID("RecordID")?.content)
        if emailAddress == nil, phoneNumber == nil, userRecordID == nil { return nil }
    }
}

extension CKUserIdentity.Content {
    /// An identity in an archive of Apple's framework; nil for any other object.
    init?(apple archived: ArchivedObject) {
        guard archived.number("HasICloudAccount") != nil else { return nil }
        self.init(
            userRecordID: archived.recordID("UserRecordID")?.content,
            lookupInfo: archived.object("LookupInfo").flatMap { CKUserIdentityLookupInfo.Content(apple: $0) },
            nameComponents: archived.object("NameComponents")?.personName,
            hasAccount: archived.flag("HasICloudAccount"))
    }
}

extension ArchivedObject {
    /// The identity under a key.
    func identity(_ key: String) -> CKUserIdentity? {
        object(key).flatMap { CKUserIdentity.Content(apple: $0) }.map { CKUserIdentity($0) }
    }

    fileprivate var personName: PersonNameComponents? {
        guard let parts = object("NS.nameComponentsPrivate") else { return nil }
        var name = PersonNameComponents()
        name.namePrefix = parts.string("NS.namePrefix")
        name.givenName = parts.string("NS.givenName")
        name.middleName = parts.string("NS.middleName")
        name.familyName = parts.string("NS.familyName")
        name.nameSuffix = parts.string("NS.nameSuffix")
        name.nickname = parts.string("NS.nickname")
        return name
    }
}
