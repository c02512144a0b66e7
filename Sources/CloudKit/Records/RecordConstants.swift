// Constants and functions carry the names that published code spells.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// The older names of constants, which published code still spells.

/// The former name of `CKRecordZone.ID.defaultZoneName`.
@available(*, deprecated, renamed: "CKRecordZoneID.defaultZoneName")
public let CKRecordZoneDefaultName: String = "_defaultZone"

/// The former name of `CKRecord.SystemFieldKey.parent`.
@available(*, deprecated, renamed: "CKRecord.SystemFieldKey.parent")
public let CKRecordParentKey: String = "___parent"

/// The former name of `CKRecord.SystemFieldKey.share`.
@available(*, deprecated, renamed: "CKRecord.SystemFieldKey.share")
public let CKRecordShareKey: String = "___share"

/// The former name of `CKRecord.SystemType.userRecord`.
@available(*, deprecated, renamed: "CKRecord.SystemType.userRecord")
public let CKRecordTypeUserRecord: String = "Users"

/// The former name of `CKRecord.SystemType.share`.
@available(*, deprecated, renamed: "CKRecord.SystemType.share")
public let CKRecordTypeShare: String = "cloudkit.share"

/// The record name of a zone-wide share.
public let CKRecordNameZoneWideShare: String = "cloudkit.zoneshare"
